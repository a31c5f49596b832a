package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// PauseQueue keeps batches of a queue from being sent until [Store.UnpauseQueue], and returns the queue's budget as it is then. The submitters see
// it before the next call for a batch that would cost. It is idempotent, and the message is that of the first; after an error it is done or not.
func (s *Store) PauseQueue(ctx context.Context, queue, message string) (Budget, error) {
	return s.changeQueue(ctx, queue, func(b *Budget, at time.Time) (events.Kind, bool) {
		return events.QueueHeld, b.Pause(message, at)
	})
}

// UnpauseQueue ends the pause of a queue, and returns its budget as it is then, with the other holds that it may have. The submitters see it with their
// next sweep. It is idempotent; after an error it is done or not.
func (s *Store) UnpauseQueue(ctx context.Context, queue string) (Budget, error) {
	return s.changeQueue(ctx, queue, func(b *Budget, _ time.Time) (events.Kind, bool) {
		return events.QueueResumed, len(b.Resume(events.HoldPaused)) > 0
	})
}

// changeQueue changes what holds a queue, with one event, unless there is nothing to change.
func (s *Store) changeQueue(ctx context.Context, queue string, change func(b *Budget, at time.Time) (events.Kind, bool)) (Budget, error) {
	for range holdRaces {
		b, err := s.Budget(ctx, queue)
		if err != nil {
			return b, err
		}
		c := NewChange(time.Now())
		kind, changed := change(&b, c.At())
		if !changed {
			return b, nil
		}
		c.Budget(&b, kind, "")
		if err := s.Commit(ctx, c); !IsConflict(err) {
			return b, err
		}
	}
	return Budget{}, fmt.Errorf("change holds of queue %s: they change all the time", queue)
}
