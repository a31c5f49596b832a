package poller

import (
	"context"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// storeTogether is how many decisions are stored in one atomic publish. The server makes and syncs files for each such publish, some
// milliseconds that a thousand batches of one tick would wait for one after the other.
const storeTogether = 50

// decided is a batch with a decision, and the events that tell of it.
type decided struct {
	batch *jobs.Batch
	kinds []events.Kind
}

// apply decides on b by what the provider said, or by cause when it said nothing.
func (p *poll) apply(ctx context.Context, b *jobs.Batch, remote doubleword.Batch, cause error) {
	d := decided{batch: b}
	if now := time.Now().UTC(); cause != nil {
		d.kinds = DecideUnknown(&b.Batch, cause, now, p.service.pace)
	} else {
		d.kinds = Decide(&b.Batch, remote, now, p.service.pace)
		p.explain(&b.Batch)
	}
	p.decided = append(p.decided, d)
	if len(p.decided) == storeTogether {
		p.store(ctx)
	}
}

// store stores what was decided: together, and one by one when that fails, since one batch that somebody else changed, or that cannot be
// changed, must not keep the others.
func (p *poll) store(ctx context.Context) {
	all := p.decided
	p.decided = nil
	if len(all) == 0 || ctx.Err() != nil || p.service.commit(ctx, all...) == nil {
		return
	}
	for _, d := range all {
		if err := p.service.commit(ctx, d); err != nil && !jobs.IsConflict(err) {
			p.note(err) // losing a race is no error: whoever won saw at least as much, and the next tick comes
		}
	}
}

func (p *poll) note(err error) {
	if err != nil {
		p.faults = append(p.faults, err)
	}
}

func (s *Service) commit(ctx context.Context, all ...decided) error {
	change := jobs.NewChange(time.Now())
	for _, d := range all {
		change.Batch(d.batch, d.kinds...)
	}
	if err := s.cfg.Jobs.Commit(ctx, change); err != nil {
		return err
	}
	for _, d := range all {
		if b := d.batch; b.State == events.BatchFinished {
			s.cfg.Log.Info().Str("queue", b.Queue).Str("job", b.Job).Str("batch", b.N).Str("status", b.Status).
				Int("completed", b.Counts.Completed).Int("failed", b.Counts.Failed).Msg("batch finished")
		}
	}
	return nil
}
