package collector

import (
	"context"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// slowAfter is how long an ended batch waits for an answer of the provider until its state says so.
const slowAfter = 5 * time.Second

// await does call beside the caller, and tells again and again, from the caller's own goroutine, that its answer takes long.
func await[T any](slow func(), call func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := call()
		done <- answer{value, err}
	}()
	ticks := time.NewTicker(slowAfter)
	defer ticks.Stop()
	for {
		select {
		case a := <-done:
			return a.value, a.err
		case <-ticks.C:
			slow()
		}
	}
}

// slow writes into the batch's state that the provider sends nothing of what it was asked for. A wait that has a deadline keeps its reason and
// its time. Before the batch has ended it is the provider that it waits for, which its state says; it may end while this run still reads.
func (r *run) slow(ctx context.Context) {
	b, err := r.b, error(nil)
	if !r.ended() {
		var now jobs.Batch
		now, err = r.s.cfg.Jobs.Batch(ctx, r.b.Queue, r.b.Job, r.b.N)
		b = &now
	}
	if err == nil && b.State == events.BatchFinished {
		err = r.tellSlow(ctx, b)
	}
	if err != nil && ctx.Err() == nil && !jobs.IsConflict(err) {
		r.log.Warn().Err(err).Msg("slow download not told")
	}
}

func (r *run) tellSlow(ctx context.Context, b *jobs.Batch) error {
	if r.slowSince.IsZero() {
		r.slowSince = time.Now().Add(-slowAfter).UTC()
		r.log.Warn().Msg("provider sends nothing of the batch's answers")
	}
	cause := fmt.Errorf("next to nothing has come since %s; a download that stands still is broken off and tried again", r.slowSince.Format(time.RFC3339))
	if b.NextTryAt != nil {
		return r.s.tell(ctx, b, b.Why, b.NextTryAt, cause)
	}
	return r.s.tell(ctx, b, whySlow, nil, cause)
}
