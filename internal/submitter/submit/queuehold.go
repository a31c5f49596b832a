package submit

import (
	"context"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// holdRaces is how often a hold of a queue is tried anew that lost a race: whoever won it has most likely held the queue already.
const holdRaces = 5

// readBudget reads whether the queue is held.
func (d *drive) readBudget(ctx context.Context) (err error) {
	d.budget, err = d.config.Jobs.Budget(ctx, d.batch.Queue)
	return err
}

// queueHeld reports whether nothing of the queue is to be sent with the batch's key.
func (d *drive) queueHeld() bool {
	_, held := d.budget.Stops(d.batch.Key)
	return held
}

// holdQueue is a call that was refused for what a person has to see to and what every batch of the queue would be refused for. The batch takes
// back its step and the queue is held in one publish, so that there is one event, however many batches meet the same.
func (d *drive) holdQueue(ctx context.Context, v verdict, cause error) (step, error) {
	var err error
	for range holdRaces {
		if err = d.readBudget(ctx); err != nil {
			break
		}
		hold := events.QueueHold{Key: d.batch.Key, Hold: events.Hold{Code: v.code, Message: cut(cause.Error()), At: time.Now().UTC()}}
		if err = d.commitQueueHold(ctx, hold); !jobs.IsConflict(err) {
			break
		}
	}
	if d.batch.State == events.BatchFencing { // the proof of its fence needs that upload
		d.memory.restUntil = time.Now().Add(longestWait)
		return step{delay: longestWait, why: events.WhyQueueHeld}, err
	}
	return step{done: true}, err
}

// commitQueueHold stores the hold, unless it stands already, and what becomes of the batch.
func (d *drive) commitQueueHold(ctx context.Context, hold events.QueueHold) error {
	seenAt := time.Now()
	c := jobs.NewChange(seenAt)
	next, budget := d.batch, d.budget
	kinds := awaitHold(&next.Batch, &hold, c.At())
	c.Batch(&next, kinds...)
	added := budget.Hold(hold)
	if added {
		c.Budget(&budget, events.QueueHeld, fmt.Sprintf("batch %s of job %s was refused", next.N, next.Job))
	}
	if err := d.config.Jobs.Commit(ctx, c); err != nil {
		return err
	}
	if added {
		d.log.Error().Str("code", hold.Code).Str("key", hold.Key).Str("reason", hold.Message).Msg("queue held")
	}
	entered := d.batch.State != next.State
	d.batch, d.budget, d.listed, d.listing = next, budget, false, nil
	if entered {
		d.memory.entered(&d.batch, seenAt)
	} else {
		d.memory.noted(&d.batch)
	}
	return nil
}

// awaitHold makes b say that it waits for its queue. From creating, where a refusal has just said that nothing was made, it goes back.
func awaitHold(b *events.Batch, hold *events.QueueHold, at time.Time) (kinds []events.Kind) {
	if b.State == events.BatchCreating {
		b.State, b.SinceAt, b.Hold = events.BatchUploaded, at, nil
		kinds = []events.Kind{events.BatchIsUploaded}
	}
	b.Why, b.NextTryAt, b.LastError = events.WhyQueueHeld, nil, cut(hold.Code+": "+hold.Message)
	return kinds
}

// awaitQueue says what the batch waits for, once.
func (d *drive) awaitQueue(ctx context.Context) (step, error) {
	hold, _ := d.budget.Stops(d.batch.Key)
	if d.batch.Why == events.WhyQueueHeld {
		return step{done: true}, nil
	}
	return step{done: true}, d.note(ctx, func(b *events.Batch, at time.Time) { awaitHold(b, &hold, at) })
}

// leaveFence ends a proven fence without a POST: none of an earlier attempt can make a batch any more, so the batch waits like one that was
// never sent. A file that was uploaded to prove the deletion is the next attempt's.
func (d *drive) leaveFence(ctx context.Context) error {
	hold, _ := d.budget.Stops(d.batch.Key)
	state, file := events.BatchPlanned, d.memory.fence.newFile
	var kinds []events.Kind
	if file != "" {
		state, kinds = events.BatchUploaded, []events.Kind{events.BatchIsUploaded}
	}
	return d.enter(ctx, state, func(b *events.Batch, at time.Time) {
		b.FileID, b.Owner = file, ""
		awaitHold(b, &hold, at)
	}, kinds...)
}

// heldQueues are the queues that have a budget, by name, as a sweep sees them.
type heldQueues map[string]events.Budget

func (s *Submitter) heldQueues(ctx context.Context) (heldQueues, error) {
	held := make(heldQueues)
	for b, err := range s.config.Jobs.Budgets(ctx) {
		if err != nil {
			return nil, err
		}
		held[b.Queue] = b.Budget
	}
	return held, nil
}

// keep reports whether a batch waits for its queue and says so: there is nothing to do for it.
func (h heldQueues) keep(b *events.Batch) bool {
	return h.stop(b) && unsent(b.State) && b.Why == events.WhyQueueHeld
}

// stop reports whether nothing of the batch's queue is sent with its key.
func (h heldQueues) stop(b *events.Batch) bool {
	budget := h[b.Queue]
	_, held := budget.Stops(b.Key)
	return held
}
