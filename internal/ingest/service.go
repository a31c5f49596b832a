package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/internal/room"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Config is what the service needs and may be told. Bus and Jobs are required.
type Config struct {
	Bus  *jetstore.Store
	Jobs *jobs.Store
	Log  zerolog.Logger
	// Policies of the queues. Default [DefaultPolicies].
	Policies Policies
	// FetchMessages and FetchBytes bound one fetch, and with it the memory of the service. Defaults 500 and 16 MiB.
	FetchMessages, FetchBytes int
	// FetchWait is how long a fetch waits for more after its first message. Default 20 ms: rows of one publisher share blocks, and nobody
	// notices.
	FetchWait time.Duration
	// HandleTimeout is how long nothing of a fetch may be stored before what is not stored by then is given back. Default 1 min.
	HandleTimeout time.Duration
	// DrainTimeout is how long the fetch in hand may go on after the end of Run's ctx. Default 10 s.
	DrainTimeout time.Duration
	// SweepInterval is how often all jobs are searched for rolling ones without a seal, jittered by a tenth. Default 60 s.
	SweepInterval time.Duration
	// SealSlack is how long after its window's end a rolling job is sealed: more than the clocks of the bus' servers differ. Default 5 s.
	SealSlack time.Duration
	// Observe hears what the service does. Default: nobody.
	Observe obs.Hooks
}

func (c Config) withDefaults() Config {
	if c.Policies == nil {
		c.Policies = DefaultPolicies{}
	}
	c.FetchMessages = orDefault(c.FetchMessages, 500)
	c.FetchBytes = orDefault(c.FetchBytes, 16<<20)
	c.FetchWait = orDefault(c.FetchWait, 20*time.Millisecond)
	c.HandleTimeout = orDefault(c.HandleTimeout, time.Minute)
	c.DrainTimeout = orDefault(c.DrainTimeout, 10*time.Second)
	c.SweepInterval = orDefault(c.SweepInterval, time.Minute)
	c.SealSlack = orDefault(c.SealSlack, 5*time.Second)
	return c
}

func orDefault[T int | time.Duration](value, def T) T {
	if value > 0 {
		return value
	}
	return def
}

// Service is one replica of ingest.
type Service struct{ config Config }

// New checks the config. It asks nobody anything.
func New(c Config) (*Service, error) {
	if c.Bus == nil || c.Jobs == nil {
		return nil, errors.New("new ingest: no bus or no jobs")
	}
	return &Service{config: c.withDefaults()}, nil
}

// Name is "ingest".
func (s *Service) Name() string { return "ingest" }

// Run blocks until ctx has ended and the fetch in hand is answered, for which it has DrainTimeout, and then returns nil. It may run in
// as many processes at once as one likes.
func (s *Service) Run(ctx context.Context) error {
	sweep := newSweeper(s.config)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.ingest(ctx, sweep.opened) })
	group.Go(func() error { return sweep.run(ctx) })
	if err := group.Wait(); err != nil {
		return fmt.Errorf("run ingest: %w", err)
	}
	return nil
}

func (s *Service) ingest(ctx context.Context, opened func(queue, job string)) error {
	c := s.config
	w := newWorker(c, opened)
	return c.Bus.Batches(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest, jetstore.BatchOptions{
		MaxMessages: c.FetchMessages, MaxBytes: c.FetchBytes, MaxWait: c.FetchWait, DrainTimeout: c.DrainTimeout,
		Hooks: c.Observe.Loop(obs.LoopIngestFetch, func(subject string, err error) {
			c.Log.Warn().Str("subject", subject).Err(err).Msg("fetching requests")
		}),
	}, w.handle)
}

func newWorker(c Config, opened func(queue, job string)) *worker {
	return &worker{
		bus: c.Bus, jobs: c.Jobs, policies: c.Policies, log: c.Log, timeout: c.HandleTimeout, observe: c.Observe,
		snapshots: &snapshots{
			jobs: c.Jobs, policies: c.Policies, opened: opened, room: room.New(c.Bus, c.Log),
		},
		packer: newPacker(), window: c.Bus.NewWindow(0),
	}
}
