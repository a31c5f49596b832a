package poller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
)

// sweeps sets the ticks, at once and again and again, since a bus may have been restored without them.
func (s *Service) sweeps(ctx context.Context) {
	for {
		s.cfg.Observe.Beat(obs.LoopPollerSweep)
		for _, key := range s.cfg.Keys {
			if err := s.cfg.Bus.SetTick(ctx, tickName(key), tickInterval(s.cfg.Floor)); err != nil && ctx.Err() == nil {
				s.cfg.Log.Warn().Err(err).Str("key", key).Msg("tick not set")
			}
		}
		if err := s.keyless(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn().Err(err).Msg("batches not swept")
		}
		timer := time.NewTimer(spread(s.cfg.SweepInterval))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// tickInterval is the floor in the whole seconds that schedules have.
func tickInterval(floor time.Duration) time.Duration {
	return (floor + time.Second - 1).Truncate(time.Second)
}

// spread keeps the replicas' sweeps apart: d, up to a tenth more or less.
func spread(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1) //nolint:gosec // no secret depends on it
}

// keyless holds submitted batches whose key is gone, and resumes them when it is back.
func (s *Service) keyless(ctx context.Context) error {
	ctx = s.cfg.Bus.Anchor(ctx)
	for b, err := range s.cfg.Jobs.AllBatches(ctx) {
		if err != nil {
			return err
		}
		if b.State != events.BatchSubmitted {
			continue
		}
		change := jobs.NewChange(time.Now())
		kinds := holdKey(&b.Batch, slices.Contains(s.cfg.Keys, b.Key), change.At())
		if len(kinds) == 0 {
			continue
		}
		change.Batch(&b, kinds...)
		if err := s.cfg.Jobs.Commit(ctx, change); err != nil && !jobs.IsConflict(err) {
			return err
		}
	}
	return nil
}

// holdKey holds b when its key is missing, ends that hold when it is not, and returns the event of it. Another hold stays. It is pure.
func holdKey(b *events.Batch, configured bool, now time.Time) []events.Kind {
	held := b.Hold != nil && b.Hold.Code == events.HoldKeyMissing
	switch {
	case configured && held:
		b.Hold = nil
		return []events.Kind{events.BatchResumed}
	case !configured && b.Hold == nil:
		b.Hold = &events.Hold{
			Code: events.HoldKeyMissing, At: now,
			Message: fmt.Sprintf("no API key named %q is configured: configure it again to go on", b.Key),
		}
		return []events.Kind{events.BatchHeld}
	}
	return nil
}
