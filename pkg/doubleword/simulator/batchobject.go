package simulator

import (
	"maps"
	"time"
)

// batchObject is a batch as clients read it (contract, 5.1); absent means omitted.
type batchObject struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"`
	Endpoint         string            `json:"endpoint"`
	InputFileID      string            `json:"input_file_id"`
	CompletionWindow string            `json:"completion_window"`
	Status           string            `json:"status"`
	OutputFileID     string            `json:"output_file_id,omitempty"`
	ErrorFileID      string            `json:"error_file_id,omitempty"`
	CreatedAt        int64             `json:"created_at"`
	InProgressAt     *int64            `json:"in_progress_at,omitempty"`
	ExpiresAt        *int64            `json:"expires_at,omitempty"`
	FinalizingAt     *int64            `json:"finalizing_at,omitempty"`
	CompletedAt      *int64            `json:"completed_at,omitempty"`
	FailedAt         *int64            `json:"failed_at,omitempty"`
	ExpiredAt        *int64            `json:"expired_at,omitempty"`
	CancellingAt     *int64            `json:"cancelling_at,omitempty"`
	CancelledAt      *int64            `json:"cancelled_at,omitempty"`
	RequestCounts    requestCounts     `json:"request_counts"`
	Metadata         map[string]string `json:"metadata"`
	Analytics        *batchAnalytics   `json:"analytics,omitempty"`
	Dwext            map[string]string `json:"dwext"`

	plain *plainBatch // what OpenAI's dialect shows instead
}

type requestCounts struct {
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
}

// object renders the batch as POST does; GET and list add the context.
func (b *batch) object(now time.Time) batchObject {
	o := batchObject{
		ID: b.ID, Object: "batch", Endpoint: b.Endpoint, CompletionWindow: b.Window, Status: b.status(),
		CreatedAt: b.createdAt.Unix(), InProgressAt: unixTime(b.populatedAt), ExpiresAt: unixTime(b.ExpiresAt),
		CompletedAt: unixTime(b.completedAt), FailedAt: unixTime(b.failedAt),
		CancellingAt: unixTime(b.cancelledAt), CancelledAt: unixTime(b.cancelledAt),
		RequestCounts: requestCounts{Total: b.Rows, Completed: b.completedCount(), Failed: len(b.failed)},
		Metadata:      b.metadata(), Dwext: map[string]string{"source": "api"},
	}
	if !b.input.deleted {
		o.InputFileID = b.FileID
	}
	if !b.output.deleted {
		o.OutputFileID = b.OutputID
	}
	if !b.errors.deleted {
		o.ErrorFileID = b.ErrorID
	}
	if o.Status == "completed" || o.Status == "finalizing" {
		o.FinalizingAt = unixTime(b.lastRowAt)
	}
	if now.After(b.ExpiresAt) {
		o.ExpiredAt = o.ExpiresAt // on any batch, even a successful one
	}
	return o
}

func (b *batch) described(now time.Time) batchObject {
	o := b.object(now)
	o.Metadata["context_name"], o.Metadata["context_type"] = "Simulator", "personal"
	return o
}

// metadata is the client's, without reserved keys, with what the provider adds.
func (b *batch) metadata() map[string]string {
	m := maps.Clone(b.Metadata)
	if m == nil {
		m = map[string]string{}
	}
	m["request_source"], m["created_by_email"] = "api", creatorEmail
	return m
}

// settled tells whether every row has its final state and no stamp says so yet.
func (b *batch) settled() bool {
	return b.finished() && !b.cancelled() && b.expiredAt.IsZero() && b.completedAt.IsZero() && b.failedAt.IsZero()
}
