package submit

import (
	"context"
	"time"

	"github.com/batchbus/batchbus/internal/budget"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// claim is what a change to creating reserves: the ledger of the queue and what the job spends, as they are with it.
type claim struct {
	own   events.Reservation
	queue jobs.Budget
	job   jobs.Job
}

// claimSpending reads all limits anew and prepares the reservation; nil where nothing limits the batch. Not ready: something has changed, or the
// batch is held, and next says how to go on. A fence posts again what was reserved before.
func (d *drive) claimSpending(ctx context.Context) (c *claim, ready bool, next step, err error) {
	if err = d.readBudget(ctx); err != nil || d.queueHeld() { // the upload may have taken long: decide again
		return nil, false, step{}, err
	}
	if d.batch.State != events.BatchUploaded || d.config.Policy == nil {
		return nil, true, step{}, nil
	}
	if d.job, err = d.config.Jobs.Job(ctx, d.batch.Queue, d.batch.Job); err != nil || d.job.CancelWanted != nil {
		return nil, false, step{}, err
	}
	if next, err = d.readLimits(ctx); err != nil || next.delay > 0 {
		return nil, false, next, err
	}
	switch s := &d.spending; {
	case !s.limited:
		return nil, true, step{}, nil
	case s.estimate == nil:
		return nil, false, step{}, nil
	case !s.verdict.OK():
		next, err = d.holdSpending(ctx)
		return nil, false, next, err
	}
	return d.newClaim(), true, step{}, nil
}

func (d *drive) newClaim() *claim {
	now := d.spendingCase()
	own, ledger, spent := budget.Reserve(&now)
	c := &claim{own: own, queue: d.budget, job: d.job}
	c.queue.Spending, c.job.Spending = &ledger, &spent
	return c
}

// intend wins creating, and reserves in the same publish. The time is from before the change.
func (d *drive) intend(ctx context.Context, fileID string, c *claim) (before time.Time, err error) {
	before = time.Now()
	set := func(b *events.Batch, at time.Time) {
		next := at.Add(d.patience.answer)
		b.FileID, b.Owner, b.Attempt = fileID, d.config.Owner, max(b.Attempt, 1)
		b.Why, b.NextTryAt = "create_unanswered", &next
		if c != nil {
			b.Reserved, b.Estimate = &c.own, d.estimate()
		}
	}
	with := func(change *jobs.Change) {
		if c != nil {
			change.Job(&c.job)
			change.Ledger(&c.queue)
		}
	}
	if err = d.enterWith(ctx, events.BatchCreating, set, with, events.BatchIsCreating); err == nil && c != nil {
		d.budget, d.job = c.queue, c.job
	}
	return before, err
}

// lostLedger reports whether a change to creating was lost only because the ledger, or the job, was changed meanwhile.
func (d *drive) lostLedger(ctx context.Context, err error, c *claim) bool {
	if c == nil || !jobs.IsConflict(err) {
		return false
	}
	now, readErr := d.config.Jobs.Batch(ctx, d.batch.Queue, d.batch.Job, d.batch.N)
	return readErr == nil && now.Revision == d.batch.Revision
}

// startLedger adds up what the queue and the job have spent where nobody has kept that yet. It is stored with the first reservation.
func (d *drive) startLedger(ctx context.Context) error {
	if d.budget.Spending != nil && d.job.Spending != nil {
		return nil
	}
	all := d.config.Jobs.AllBatches(ctx)
	if d.budget.Spending != nil {
		all = d.config.Jobs.Batches(ctx, d.batch.Queue, d.batch.Job)
	}
	found := make(map[string]events.Batch) // one that changes meanwhile is listed twice, the second time as it is now
	for b, err := range all {
		if err != nil {
			return err
		}
		if b.Queue == d.batch.Queue {
			found[b.StateKey()] = b.Batch
		}
	}
	start := budget.NewStart(d.batch.Job, budget.Day(time.Now()))
	for _, b := range found {
		start.Add(&b)
	}
	if d.budget.Spending == nil {
		d.budget.Spending = &start.Ledger
	}
	if d.job.Spending == nil {
		d.job.Spending = &start.Job
	}
	return nil
}
