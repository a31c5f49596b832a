package simulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// plainBatch is a batch as OpenAI writes it: what is absent is null.
type plainBatch struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"`
	Endpoint         string            `json:"endpoint"`
	Errors           *string           `json:"errors"`
	InputFileID      string            `json:"input_file_id"`
	CompletionWindow string            `json:"completion_window"`
	Status           string            `json:"status"`
	OutputFileID     *string           `json:"output_file_id"`
	ErrorFileID      *string           `json:"error_file_id"`
	CreatedAt        int64             `json:"created_at"`
	InProgressAt     *int64            `json:"in_progress_at"`
	ExpiresAt        *int64            `json:"expires_at"`
	FinalizingAt     *int64            `json:"finalizing_at"`
	CompletedAt      *int64            `json:"completed_at"`
	FailedAt         *int64            `json:"failed_at"`
	ExpiredAt        *int64            `json:"expired_at"`
	CancellingAt     *int64            `json:"cancelling_at"`
	CancelledAt      *int64            `json:"cancelled_at"`
	RequestCounts    requestCounts     `json:"request_counts"`
	Metadata         map[string]string `json:"metadata"`
}

// shown is the object in the dialect that is spoken.
func (s *Simulator) shown(b *batch, o batchObject) batchObject {
	if s.cfg.Dialect == DialectOpenAI {
		o.plain = b.plain(o)
	}
	return o
}

// MarshalJSON writes the dialect's own object when there is one.
func (o batchObject) MarshalJSON() ([]byte, error) {
	type doubleword batchObject // without this method
	var v any = doubleword(o)
	if o.plain != nil {
		v = o.plain
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode batch: %w", err)
	}
	return text, nil
}

// plain turns a Doubleword object into OpenAI's.
func (b *batch) plain(o batchObject) *plainBatch {
	p := &plainBatch{
		ID: o.ID, Object: o.Object, Endpoint: o.Endpoint, InputFileID: b.FileID, CompletionWindow: o.CompletionWindow,
		Status: o.Status, CreatedAt: o.CreatedAt, InProgressAt: o.InProgressAt, ExpiresAt: o.ExpiresAt,
		FinalizingAt: o.FinalizingAt, CompletedAt: o.CompletedAt, FailedAt: o.FailedAt, ExpiredAt: unixTime(b.expiredAt),
		CancellingAt: o.CancellingAt, CancelledAt: o.CancelledAt, RequestCounts: o.RequestCounts, Metadata: b.Metadata,
	}
	if slices.Contains([]string{"completed", "failed", "expired", "cancelled"}, o.Status) {
		if o.OutputFileID != "" && len(b.completed) > 0 {
			p.OutputFileID = &o.OutputFileID
		}
		if o.ErrorFileID != "" && len(b.failed) > 0 {
			p.ErrorFileID = &o.ErrorFileID
		}
	}
	return p
}

// expiredRow stands for the reason of a row that the window's end left unrun.
const expiredRow = "Expired"

// expire ends what has not run: OpenAI's window is a cutoff.
func (b *batch) expire(at time.Time) {
	if !b.populated() {
		b.populate(at)
	}
	expired := oddRows{oddity: oddity{Kind: expiredRow}}
	for i, state := range b.states {
		if state == rowPending || state == rowHeld {
			b.finish(uint32(i), true)
			delete(b.odd, uint32(i))
			expired.Rows = append(expired.Rows, uint32(i))
		}
	}
	b.remember([]oddRows{expired})
	b.todo, b.next, b.held, b.expiredAt = nil, 0, nil, at
}

// expires tells whether the batch has to end now for its window. The caller holds s.mu.
func (s *Simulator) expires(b *batch, now time.Time) bool {
	ended := b.cancelled() || !b.failedAt.IsZero() || (b.populated() && b.unfinished() == 0)
	return s.cfg.Dialect == DialectOpenAI && !ended && !now.Before(b.ExpiresAt)
}
