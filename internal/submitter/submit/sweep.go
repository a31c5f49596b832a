package submit

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// Run sweeps, at once and then every SweepInterval, until ctx ends; then it returns nil when what is under way is done. It blocks. A sweep
// that fails is logged and repeated.
func (s *Submitter) Run(ctx context.Context) error {
	for {
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
	open, err := s.openJobs(ctx)
	if err != nil {
		return err
	}
	var (
		now     = time.Now()
		known   = make(map[string]struct{})
		workers errgroup.Group
		drives  failures
	)
	workers.SetLimit(s.config.Workers)
	defer func() { _ = workers.Wait() }() // its goroutines return nil: their errors are in drives
	for b, err := range s.config.Jobs.AllBatches(ctx) {
		if err != nil {
			return err
		}
		open.saw(&b)
		if !waits(&b.Batch) && !open.cancelled(&b) {
			continue
		}
		known[b.StateKey()] = struct{}{}
		if isDue(&b.Batch, open.cancelled(&b), now) {
			workers.Go(func() error { drives.add(s.driven(ctx, &b)); return nil })
		}
	}
	_ = workers.Wait()
	s.memories.keep(known)
	return errors.Join(drives.joined(), s.complete(ctx, open))
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

// driven drives one batch; having to wait is no error, nor is a fault of this batch alone.
func (s *Submitter) driven(ctx context.Context, b *jobs.Batch) error {
	_, err := s.drive(ctx, b.Queue, b.Job, b.N)
	if err == nil || ctx.Err() != nil {
		return nil //nolint:nilerr // the process is told to stop
	}
	s.config.Log.Error().Err(err).Str("queue", b.Queue).Str("job", b.Job).Str("batch", b.N).Msg("batch not driven")
	return err
}

// failures gathers the errors of several goroutines.
type failures struct {
	mu   sync.Mutex
	errs []error
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.errs = append(f.errs, err)
	}
}

func (f *failures) joined() error { return errors.Join(f.errs...) }
