package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

// record is what the bus knows of a call, under call.<group>.<id>: the group is idempotent, or a hash of caller, url and body, so that equal
// calls are found together. The id is the row's custom_id.
type record struct {
	Queue      string    `json:"queue"`
	Job        string    `json:"job"` // the rolling job that the row belongs to
	URL        string    `json:"url"`
	Caller     string    `json:"caller"` // a hash
	BodySHA256 string    `json:"body_sha256"`
	Window     string    `json:"window,omitempty"`
	Gateway    string    `json:"gateway"` // the replica that holds, or held, the caller's connection
	OpenedAt   time.Time `json:"opened_at"`
	// Source names the row's dead letter, if it ends as one.
	Source string `json:"source"`
	// AnsweredAt is when the caller was given the result, or a handle.
	AnsweredAt *time.Time `json:"answered_at,omitempty"`
	// Handle says that it was a handle, by which the result will be fetched.
	Handle bool `json:"handle,omitempty"`
}

// call is a record where it stands.
type call struct {
	record
	group, id string
	revision  uint64
}

// idempotent is the group of calls with an Idempotency-Key; the others' are 32 hexadecimal digits.
const idempotent = "idempotent"

func keyOfCall(group, id string) string { return "call." + group + "." + id }

// place puts the call's row into the rolling job of a moment. It changes nothing on the bus.
func (c *call) place(q *request, at time.Time, linger time.Duration) {
	c.Job = events.RollingAt(at, linger).Job()
	line := q.row(c.id)
	c.Source = messages.Source(rows.HashRow(line), 1, c.messageID()).String()
}

// messageID is the Nats-Msg-Id of the row: another one in each job, so that the stream drops no copy that goes to a later job.
func (c *call) messageID() string { return "gateway." + c.Queue + "." + c.Job + "." + c.id }

// matches tells whether a call with the same Idempotency-Key is the same call.
func (c *call) matches(q *request) bool {
	return c.URL == q.url && c.BodySHA256 == q.digest && c.Window == q.window
}

// errTaken is returned when a record is not as it was read: another replica was faster.
var errTaken = errors.New("another replica has changed the call's record")

// put stores a call in the place of the revision it was read with. [errTaken]: nothing was stored. After another error it may be stored.
func (s *Service) put(ctx context.Context, c *call) error {
	text, err := json.Marshal(&c.record)
	if err != nil {
		return fmt.Errorf("encode call: %w", err)
	}
	ttl := s.cfg.RecordTTL
	if c.AnsweredAt != nil && !c.Handle && c.group != idempotent {
		ttl = min(ttl, answeredTTL)
	}
	revisions, err := s.cfg.Bus.Commit(ctx, jetstore.Change{
		Subject: jetstore.CallSubject(keyOfCall(c.group, c.id)), Value: text, Expect: c.revision, TTL: ttl,
	})
	if errors.Is(err, jetstore.ErrConflict) {
		return errTaken
	}
	if err != nil {
		return fmt.Errorf("store call: %w", err)
	}
	c.revision = revisions[0]
	return nil
}

// get reads a call; the group may be "*". [jetstore.ErrNotFound] when there is none.
func (s *Service) get(ctx context.Context, group, id string) (*call, error) {
	entry, err := s.cfg.Bus.Call(ctx, keyOfCall(group, id))
	if err != nil {
		return &call{group: group, id: id, revision: entry.Revision}, err
	}
	return callOf(&entry)
}

// equals are the calls with the same caller, url and body that have records.
func (s *Service) equals(ctx context.Context, group string) (all []*call, err error) {
	for entry, err := range s.cfg.Bus.Calls(ctx, "call."+group+".") {
		if err != nil {
			return nil, err
		}
		c, err := callOf(&entry)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func callOf(entry *jetstore.Entry) (*call, error) {
	c := &call{revision: entry.Revision}
	if err := json.Unmarshal(entry.Value, &c.record); err != nil {
		return nil, fmt.Errorf("read call: %w", err)
	}
	var ok bool
	if c.group, c.id, ok = cutKey(entry.Key); !ok {
		return nil, fmt.Errorf("read call: %w", events.ErrSubject)
	}
	return c, nil
}
