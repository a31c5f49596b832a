package collector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Service collects the answers of batches. Any number of them may run on one bus.
type Service struct {
	cfg    Config
	kicks  kicks
	sweeps seats
}

// New returns a service that does nothing until [Service.Run]. Its error names every missing or impossible setting.
func New(c Config) (*Service, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("configure collector: %w", err)
	}
	return &Service{
		cfg: c, kicks: kicks{busy: map[batchID]bool{}, rests: map[batchID]time.Time{}}, sweeps: newSeats(c.Workers, c.Aside),
	}, nil
}

// Name is the service's name in logs, metrics and health checks.
func (s *Service) Name() string { return "collector" }

// Run collects until ctx ends, and returns nil once what was under way is stored or DrainTimeout is over. Cut off in the middle, a batch
// goes on from its cursor at the next start. It may be called once.
func (s *Service) Run(ctx context.Context) error {
	stop := ctx.Done()
	work, cancel := outlive(ctx, s.cfg.DrainTimeout)
	defer cancel()
	var group errgroup.Group
	group.Go(func() error { return s.sweeper(work, stop) })
	group.Go(func() error {
		return s.cfg.Bus.Each(ctx, jetstore.StreamEvents, jetstore.ConsumerCollector, jetstore.EachOptions{
			Workers: s.cfg.Workers, Aside: s.cfg.Aside, DrainTimeout: s.cfg.DrainTimeout,
			Hooks: s.cfg.Observe.Loop(obs.LoopCollectorEvents, s.trouble),
		}, func(ctx context.Context, d jetstore.Delivery) error {
			return s.hint(ctx, turn{stop: stop, leave: func() { d.Leave() }}, d)
		})
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("run collector: %w", err)
	}
	return nil
}

func (s *Service) trouble(subject string, err error) {
	s.cfg.Log.Warn().Str("subject", subject).Err(err).Msg("hint comes again")
}

// longestAway is how long a provider is left alone at most that does not hand out its files: a provider that is away for hours is not asked
// every minute for each batch, and one that is back is found soon.
const longestAway = 5 * time.Minute

// awayPause doubles from a second with each delivery, which count from 1.
func awayPause(delivered int) time.Duration {
	return min(time.Second<<min(max(delivered-1, 0), 10), longestAway)
}

// hint collects the batch that an event tells of. The hint of a finished batch stays until the batch is settled; one of progress is
// only kept after an error, since the finish brings another.
func (s *Service) hint(ctx context.Context, t turn, d jetstore.Delivery) error {
	kind, id, ok := batchOf(d.Subject)
	if !ok {
		return nil
	}
	if !s.kicks.begin(id) {
		if kind == events.BatchIsFinished {
			return jetstore.Later(s.cfg.RetryInterval, nil)
		}
		return nil
	}
	wait, err := s.rounds(ctx, t, id)
	if errors.Is(err, errStopping) || err != nil && ctx.Err() != nil {
		return jetstore.Later(0, err)
	}
	if away, ok := errors.AsType[*providerError](err); ok {
		s.trouble(d.Subject, away)
		wait = awayPause(d.Delivered)
		s.kicks.rest(id, wait)
		return jetstore.Later(wait, away)
	}
	s.kicks.rest(id, wait)
	if err == nil && wait > 0 && kind == events.BatchIsFinished {
		return jetstore.Later(wait, nil)
	}
	return err
}

// rounds collects a batch that the caller holds, again while hints came meanwhile, and gives it up.
func (s *Service) rounds(ctx context.Context, t turn, id batchID) (wait time.Duration, err error) {
	for {
		wait, err = s.collect(ctx, t, id)
		if err != nil || wait > 0 {
			s.kicks.drop(id)
			return wait, err
		}
		if !s.kicks.again(id) {
			return 0, nil
		}
	}
}

// batchOf reads the subject of a batch's event, whose id is "<batch>-<revision>".
func batchOf(subject string) (events.Kind, batchID, bool) {
	kind, queue, job, id, err := events.ParseEventSubject(subject)
	cut := strings.LastIndexByte(id, '-')
	if err != nil || cut <= 0 {
		return "", batchID{}, false
	}
	return kind, batchID{queue: queue, job: job, n: id[:cut]}, true
}

// outlive is a context for work that may go on for the drain time after ctx has ended.
func outlive(ctx context.Context, drain time.Duration) (work context.Context, stop func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(drain)
		defer timer.Stop()
		select {
		case <-work.Done():
		case <-timer.C:
			cancel()
		}
	})
	return work, func() { unhook(); cancel() }
}
