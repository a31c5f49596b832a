package chaos_test

import (
	"time"

	"github.com/batchbus/batchbus/internal/budget"
	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/test/rig"
)

// limit puts the queue under limits that all of its batches keep, so that each is reserved for.
func (w *world) limit() {
	w.t.Helper()
	w.until("a limit of the queue", func() bool {
		_, err := queues.New(w.Store, 0).Put(rig.Patiently(w.t), rig.Queue, []byte(`{"budget":{"day_tokens":1000000000,"queue_tokens":1000000000}}`), nil)
		return err == nil
	})
}

// judgeLedger holds what the queue's ledger says against its batches: whatever was killed when, each reservation was made once and
// released once, and what was used counts once.
func (w *world) judgeLedger() {
	w.t.Helper()
	store := jobs.New(w.Store)
	queue, err := store.Budget(rig.Patiently(w.t), rig.Queue)
	if err != nil || queue.Spending == nil {
		w.violate(totals, "the queue has no ledger: %v", err)
		return
	}
	found := make(map[string]events.Batch)
	for b, err := range store.AllBatches(rig.Patiently(w.t)) {
		if err != nil {
			w.t.Fatal(err)
		}
		found[b.StateKey()] = b.Batch
	}
	sum, reserved := budget.NewStart("", queue.Spending.Day), 0
	for _, b := range found {
		sum.Add(&b)
		if b.Spent != nil {
			reserved++
		}
	}
	if got := queue.Spending.Total; got != sum.Ledger.Total || got.Reserved != (events.Amount{}) || reserved == 0 {
		w.violate(totals, "the ledger has %+v, and %d batches that were counted add up to %+v", got, reserved, sum.Ledger.Total)
	}
}

// leak is a ledger into which somebody else has written: the sweep puts it right.
func leak() scenario {
	return scenario{
		name: "leak", limited: true, madeFor: []failpoint.Point{"submitter.commit.budget"},
		run: func(w *world) {
			w.job("leak", rows("row", "m", 3))
			w.event(events.JobDone, "leak")
			store := jobs.New(w.Store)
			w.until("a ledger that differs", func() bool {
				queue, err := store.Budget(rig.Patiently(w.t), rig.Queue)
				if err != nil || queue.Spending == nil {
					return false
				}
				wrong := *queue.Spending
				wrong.Total.Reserved.Tokens += 1000
				queue.Spending = &wrong
				change := jobs.NewChange(time.Now())
				change.Ledger(&queue)
				return store.Commit(rig.Patiently(w.t), change) == nil
			})
			w.until("a ledger that is put right", func() bool {
				queue, err := store.Budget(rig.Patiently(w.t), rig.Queue)
				return err == nil && queue.Spending.Total.Reserved == (events.Amount{})
			})
		},
		want: expectation{dues: []due{succeed("leak", 3)}},
	}
}
