package collector

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
)

// sweeper looks for batches that lost their hint, at once and then again and again, until stop; then it waits for what it began. Batches that hang
// do not keep it from the next sweep.
func (s *Service) sweeper(ctx context.Context, stop <-chan struct{}) error {
	defer s.sweeps.wait()
	for {
		s.cfg.Observe.Beat(obs.LoopCollectorSweep)
		if err := s.sweep(ctx, stop); err != nil {
			s.cfg.Log.Warn().Err(err).Msg("sweep ended early")
		}
		timer := time.NewTimer(jitter(s.cfg.SweepInterval))
		select {
		case <-stop:
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// jitter spreads the replicas' sweeps: d, up to a tenth more or less.
func jitter(d time.Duration) time.Duration {
	return d*9/10 + rand.N(d/5+1) //nolint:gosec // spreads load, guards nothing
}

// sweep collects every batch that is due, and completes every job whose last batch was settled by somebody who could not tell the job.
func (s *Service) sweep(ctx context.Context, stop <-chan struct{}) error {
	ctx = s.cfg.Bus.Anchor(ctx)
	for b, err := range s.cfg.Jobs.AllBatches(ctx) {
		if err != nil {
			return err
		}
		if stopped(stop) {
			return nil
		}
		if due, err := s.due(ctx, &b); err != nil {
			return err
		} else if due {
			s.sweeps.start(stop, func(t turn) { s.resweep(ctx, t, &b) })
		}
	}
	for j, err := range s.cfg.Jobs.Jobs(ctx) {
		if err != nil || stopped(stop) {
			return err
		}
		if j.State != events.JobPlanned {
			continue
		}
		if _, err := s.cfg.Jobs.Complete(ctx, j.Queue, j.Name()); err != nil {
			return err
		}
	}
	return nil
}

// due reports whether a batch has something to collect.
func (s *Service) due(ctx context.Context, b *jobs.Batch) (bool, error) {
	if _, known := s.cfg.Provider(b.Key); !known && isHeld(b, events.HoldKeyMissing) || heldForPerson(b) {
		return false, nil
	}
	switch b.State {
	case events.BatchFinished:
		return b.NextTryAt == nil || !time.Now().Before(*b.NextTryAt), nil
	case events.BatchSubmitted:
		if b.Counts.Completed == 0 {
			return false, nil
		}
		cursor, err := s.cfg.Jobs.Cursor(ctx, b)
		return b.Counts.Completed > cursor.OutputLines, err
	default:
		return false, nil
	}
}

func (s *Service) resweep(ctx context.Context, t turn, b *jobs.Batch) {
	id := batchID{queue: b.Queue, job: b.Job, n: b.N}
	if s.kicks.resting(id) || !s.kicks.begin(id) {
		return
	}
	wait, err := s.rounds(ctx, t, id)
	if err != nil {
		s.logger(b).Warn().Err(err).Msg("sweep comes again")
	}
	if _, away := errors.AsType[*providerError](err); away {
		wait = longestAway
	}
	s.kicks.rest(id, wait)
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
