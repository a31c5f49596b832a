package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// OutboxTTL is how long an event stays in the state's own stream, from which BATCHBUS_EVENTS copies it (design.md section 2).
const OutboxTTL = 7 * 24 * time.Hour

// Change is a set of states and events that are published all at once or not at all. It is not safe for concurrent use.
type Change struct {
	at      time.Time
	states  []*uint64 // where the new revisions go, in the order of changes; nil for an event
	changes []jetstore.Change
}

// NewChange begins a change that happens at the given time.
func NewChange(at time.Time) *Change { return &Change{at: at.UTC()} }

// clone is a change with the same content, to which other things are added.
func (c *Change) clone() *Change {
	return &Change{at: c.at, states: slices.Clone(c.states), changes: slices.Clone(c.changes)}
}

// At is when the change happens.
func (c *Change) At() time.Time { return c.at }

// Job adds the job's state as it is now, in place of the revision it was read at, and one event per kind.
func (c *Change) Job(j *Job, kinds ...events.Kind) {
	c.put(events.JobKey(j.Queue, j.Job.Job), j.Encode(), &j.Revision)
	for _, kind := range kinds {
		c.JobEvent(j, kind, "")
	}
}

// JobEvent adds an event of j without a change of it. The note says what is not in the state.
func (c *Change) JobEvent(j *Job, kind events.Kind, note string) {
	state := j.Job
	c.event(&events.Event{Kind: kind, Queue: j.Queue, Job: j.Job.Job, JobState: &state, Note: note}, j.Revision)
}

// Batch adds the batch's state as it is now, in place of the revision it was read at, and one event per kind.
func (c *Change) Batch(b *Batch, kinds ...events.Kind) {
	c.put(b.StateKey(), b.Encode(), &b.Revision)
	for _, kind := range kinds {
		c.BatchEvent(b, kind, "")
	}
}

// BatchEvent adds an event of b without a change of it. The note says what is not in the state.
func (c *Change) BatchEvent(b *Batch, kind events.Kind, note string) {
	state := b.Batch
	c.event(&events.Event{Kind: kind, Queue: b.Queue, Job: b.Job, Batch: b.N, BatchState: &state, Note: note}, b.Revision)
}

// Cursor adds the cursor as it is now, in place of the revision it was read at.
func (c *Change) Cursor(cursor *Cursor) {
	c.put(events.CursorKey(cursor.Queue, cursor.Job, cursor.N), cursor.Encode(), &cursor.Revision)
}

func (c *Change) put(key string, value []byte, revision *uint64) {
	c.states = append(c.states, revision)
	c.changes = append(c.changes, jetstore.Change{Subject: jetstore.KeySubject(key), Value: value, Expect: *revision})
}

func (c *Change) event(e *events.Event, replaced uint64) {
	e.ID = events.EventID(e.Batch, replaced)
	e.At = c.at
	c.states = append(c.states, nil)
	c.changes = append(c.changes, jetstore.Change{Subject: e.Subject(), Value: e.Encode(), TTL: OutboxTTL})
}

// Commit publishes c. On success the revisions of its states are the new ones. [jetstore.ErrConflict]: nothing was stored, somebody
// changed one of the states: read again. [jetstore.ErrUnknown]: stored or not. Other errors: not stored.
func (s *Store) Commit(ctx context.Context, c *Change) error {
	revisions, err := s.bus.Commit(ctx, c.changes...)
	if err != nil {
		return fmt.Errorf("commit change: %w", err)
	}
	for i, revision := range c.states {
		if revision != nil {
			*revision = revisions[i]
		}
	}
	return nil
}

// IsConflict reports whether err says that somebody else made a change first.
func IsConflict(err error) bool { return errors.Is(err, jetstore.ErrConflict) }

func isNotFound(err error) bool { return errors.Is(err, jetstore.ErrNotFound) }
