package submit

import (
	"context"
	"sync"
	"time"

	"github.com/batchbus/batchbus/internal/budget"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// proofs are the ledgers, by queue, that the last sweep found to differ from their batches, and the revisions they had.
type proofs struct {
	mu    sync.Mutex
	wrong map[string]uint64
}

// seen takes note of a ledger that differs, or does not, and reports whether the last sweep saw just the same one differ.
func (p *proofs) seen(queue string, revision uint64, differs bool) (again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	again = differs && p.wrong[queue] == revision
	if p.wrong == nil {
		p.wrong = make(map[string]uint64)
	}
	if delete(p.wrong, queue); differs {
		p.wrong[queue] = revision
	}
	return again
}

// proveLedgers holds what ledgers say is reserved against the reservations in the batches. They are changed in one publish, so they agree but where
// somebody else has written: another version of batchbus that knows no reservations, or a person. A list may be older than the ledger, so
// one that differs is put right only when it differs in the next sweep too and nothing was reserved or released in between.
func (s *Submitter) proveLedgers(ctx context.Context) error {
	var ledgers []jobs.Budget
	for b, err := range s.config.Jobs.Budgets(ctx) {
		if err != nil {
			return err
		}
		if b.Spending != nil {
			ledgers = append(ledgers, b)
		}
	}
	if len(ledgers) == 0 {
		return nil
	}
	open := make(map[string]events.Batch) // one that changes meanwhile is listed twice, the second time as it is now
	for b, err := range s.config.Jobs.AllBatches(ctx) {
		if err != nil {
			return err
		}
		if delete(open, b.StateKey()); b.Reserved != nil && !b.State.Ended() {
			open[b.StateKey()] = b.Batch
		}
	}
	for i := range ledgers {
		if err := s.prove(ctx, &ledgers[i], open); err != nil {
			return err
		}
	}
	return nil
}

func (s *Submitter) prove(ctx context.Context, b *jobs.Budget, open map[string]events.Batch) error {
	sum := budget.NewStart("", b.Spending.Day)
	for _, one := range open {
		if one.Queue == b.Queue {
			sum.Add(&one)
		}
	}
	right := *b.Spending
	right.Total.Reserved, right.Today.Reserved = sum.Ledger.Total.Reserved, sum.Ledger.Today.Reserved
	if !s.proofs.seen(b.Queue, b.Revision, right != *b.Spending) {
		return nil
	}
	s.config.Log.Error().Str("queue", b.Queue).Int64("tokens", b.Spending.Total.Reserved.Tokens).Int64("tokens_of_batches", right.Total.Reserved.Tokens).
		Msg("the ledger had reserved something else than its batches: it is put right")
	b.Spending = &right
	change := jobs.NewChange(time.Now())
	change.Ledger(b)
	if err := s.config.Jobs.Commit(ctx, change); err != nil && !jobs.IsConflict(err) {
		return err
	}
	return nil
}
