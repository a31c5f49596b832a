package submit

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
)

// Run sweeps, at once and then every SweepInterval, until ctx ends; then it returns nil when what is under way is done. It blocks. A sweep
// that fails is logged and repeated.
func (s *Submitter) Run(ctx context.Context) error {
	for {
		s.config.Observe.Beat(obs.LoopSubmitterSweep)
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.config.Log.Error().Err(err).Msg("sweep failed")
		}
		pause := time.NewTimer(jittered(s.config.SweepInterval))
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil
		case <-pause.C:
		}
	}
}

// jittered is d, a tenth more or less.
func jittered(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()-0.5)*0.2*float64(d)) //nolint:gosec // spreads load, keeps no secret
}

// Sweep drives every batch that has a step to make now, whatever became of the message that should have said so: those not yet submitted,
// and submitted ones of cancelled jobs. It returns when all of them were driven once; an error is the bus'. It is idempotent.
func (s *Submitter) Sweep(ctx context.Context) error {
	ctx = s.config.Bus.Anchor(ctx)
	open, err := s.openJobs(ctx)
	if err != nil {
		return err
	}
	held, err := s.heldQueues(ctx)
	if err != nil {
		return err
	}
	due, err := s.due(ctx, open, held, &sweepLimits{Submitter: s, held: held, open: open})
	if err != nil {
		return err
	}
	var (
		workers errgroup.Group
		failed  = make([]error, len(due))
	)
	workers.SetLimit(s.config.Workers)
	for i, name := range due {
		workers.Go(func() error {
			failed[i] = s.driven(ctx, name)
			return nil
		})
	}
	_ = workers.Wait() // its goroutines return nil: one batch's error stops no other
	return errors.Join(errors.Join(failed...), s.complete(ctx, open), s.proveLedgers(ctx))
}

// name is a batch's.
type name struct{ queue, job, n string }

// due reads which batches have a step to make, and forgets those that need no memory. Only names are kept: a list may be old, and drives are
// long.
func (s *Submitter) due(ctx context.Context, open openJobs, held heldQueues, limits *sweepLimits) ([]name, error) {
	var (
		now   = time.Now()
		known = make(map[string]struct{})
		ranks ranking
	)
	for b, err := range s.config.Jobs.AllBatches(ctx) {
		if err != nil {
			return nil, err
		}
		open.saw(&b)
		cancelled := open.cancelled(&b)
		priority := open.priority(&b)
		if !cancelled && !held.stop(&b.Batch) && !open.held(&b) {
			ranks.saw(&b.Batch, priority, now, 2*s.config.SweepInterval)
		}
		if waits(&b.Batch) || cancelled || b.Wish != nil {
			known[b.StateKey()] = struct{}{}
		}
		if steps, err := s.hasStep(ctx, &b, cancelled, held, limits); err != nil {
			return nil, err
		} else if steps {
			ranks.add(&b.Batch, priority, cancelled)
		}
	}
	s.memories.keep(known)
	return ranks.due(s.places), nil
}

// hasStep reports whether a drive could make a step with the batch now.
func (s *Submitter) hasStep(ctx context.Context, b *jobs.Batch, cancelled bool, held heldQueues, limits *sweepLimits) (bool, error) {
	now, left := time.Now(), !cancelled && b.Wish == nil
	switch {
	case left && (held.keep(&b.Batch) || s.memories.resting(b.StateKey(), now)):
		return false, nil
	case left && isBudgetHold(b.Hold) && unsent(b.State):
		over, err := limits.keep(ctx, &b.Batch)
		return !over, err
	default:
		return isDue(&b.Batch, cancelled, now) || unsent(b.State) && b.Hold == nil && s.memories.untried(b.StateKey()), nil
	}
}

// unsent reports whether no POST of a batch in this state can be under way.
func unsent(state events.BatchState) bool {
	return state == events.BatchPlanned || state == events.BatchUploaded
}

// waits reports whether a batch is still on its way to the provider.
func waits(b *events.Batch) bool {
	switch b.State {
	case events.BatchPlanned, events.BatchUploaded, events.BatchCreating, events.BatchFencing:
		return true
	default:
		return false
	}
}

// isDue reports whether a drive could do something. Creating and fencing are always driven: the wait is by this process' own clock, which
// begins when it first sees them.
func isDue(b *events.Batch, cancelled bool, now time.Time) bool {
	if b.Wish != nil {
		return !b.State.Ended()
	}
	switch b.State {
	case events.BatchCreating, events.BatchFencing:
		return true
	case events.BatchPlanned, events.BatchUploaded:
		held := b.Hold != nil && b.Hold.Code != events.HoldKeyMissing
		return cancelled || !held && (b.NextTryAt == nil || !b.NextTryAt.After(now))
	case events.BatchSubmitted:
		return cancelled
	default:
		return false
	}
}

// driven drives one batch; having to wait is no error.
func (s *Submitter) driven(ctx context.Context, b name) error {
	_, err := s.drive(ctx, b.queue, b.job, b.n)
	if err == nil || ctx.Err() != nil {
		return nil //nolint:nilerr // the process is told to stop
	}
	s.config.Log.Error().Err(err).Str("queue", b.queue).Str("job", b.job).Str("batch", b.n).Msg("batch not driven")
	return err
}
