package jobs

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Budget is the state of what a queue may spend, as it was read.
type Budget struct {
	events.Budget
	Revision uint64
}

// Budget reads what a queue may spend; one without holds, which can be committed, when there is none.
func (s *Store) Budget(ctx context.Context, queue string) (Budget, error) {
	entry, err := s.bus.Get(ctx, events.BudgetKey(queue))
	if isNotFound(err) {
		return Budget{Budget: events.Budget{Queue: queue}, Revision: entry.Revision}, nil
	}
	if err != nil {
		return Budget{}, fmt.Errorf("get budget of %s: %w", queue, err)
	}
	return readBudget(entry)
}

// Budgets yields the budget of every queue that has one, under the reserve of [Store.Jobs].
func (s *Store) Budgets(ctx context.Context) iter.Seq2[Budget, error] {
	return each(s.bus.EntriesFrom(ctx, "budget.", 1), readBudget)
}

func readBudget(entry jetstore.Entry) (Budget, error) {
	budget, err := events.ParseBudget(entry.Value)
	return Budget{Budget: budget, Revision: entry.Revision}, err
}

// Budget adds the queue's budget as it is now, in place of the revision it was read at, and an event that says so. The note says what is not in
// the state.
func (c *Change) Budget(b *Budget, kind events.Kind, note string) {
	state := b.Budget
	replaced := b.Revision
	c.put(events.BudgetKey(b.Queue), b.Encode(), &b.Revision)
	c.event(&events.Event{Kind: kind, Queue: b.Queue, Job: events.NoJob, BudgetState: &state, Note: note}, replaced)
}

// Ledger adds what the queue spends as it is now, in place of the revision it was read at. The event of the batch that it is about tells of it.
func (c *Change) Ledger(b *Budget) { c.put(events.BudgetKey(b.Queue), b.Encode(), &b.Revision) }

// ResumeQueue ends the holds of a queue itself, those of one code or, when it is empty, all, and returns what it ended. The submitters see it
// with their next sweep. It is idempotent: ended is empty when there was nothing to end. After an error it is done or not.
func (s *Store) ResumeQueue(ctx context.Context, queue, code string) (ended []events.QueueHold, err error) {
	for range holdRaces {
		b, err := s.Budget(ctx, queue)
		if err != nil {
			return nil, err
		}
		if ended = b.Resume(code); len(ended) == 0 {
			return nil, nil
		}
		change := NewChange(time.Now())
		change.Budget(&b, events.QueueResumed, "")
		if err := s.Commit(ctx, change); !IsConflict(err) {
			return ended, err
		}
	}
	return nil, fmt.Errorf("resume queue %s: it changes all the time", queue)
}
