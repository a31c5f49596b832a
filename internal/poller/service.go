package poller

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Bus is what the poller needs of the store.
type Bus interface {
	Each(ctx context.Context, stream, consumer string, o jetstore.EachOptions, handle func(context.Context, jetstore.Delivery) error) error
	SetTick(ctx context.Context, name string, every time.Duration) error
	Anchor(ctx context.Context) context.Context
}

// Provider is what the poller needs of a provider's client.
type Provider interface {
	AllBatches(ctx context.Context, q doubleword.BatchQuery) iter.Seq2[doubleword.Batch, error]
	Batch(ctx context.Context, id string) (doubleword.Batch, error)
}

// Config is what a poller is made of.
type Config struct {
	Bus   Bus
	Jobs  *jobs.Store
	Log   zerolog.Logger
	BusID string // the path of a batch begins with it, see [jetstore.Store.BusID]
	// Keys are the names of the API keys that this deployment has; each gets a tick.
	Keys []string
	// Provider returns the client for a key's name; false when there is no such key.
	Provider func(key string) (Provider, bool)
	// Floor and Ceiling bound the time between two polls of one batch. Defaults 30 s and 10 min. Ticks come every Floor, in
	// whole seconds, rounded up.
	Floor, Ceiling time.Duration
	// Patience is how long 401, 404 and silence are taken for an outage. Default 15 min.
	Patience time.Duration
	// StuckTimeout is how long a batch may be validating or finalizing until a person is asked to look. Default 2 h.
	StuckTimeout time.Duration
	// SweepInterval is how often ticks are set anew and batches without a key are looked for, jittered by a tenth. Default 60 s.
	SweepInterval time.Duration
	// DrainTimeout is how long a poll that is under way may go on after the stop. Default 10 s.
	DrainTimeout time.Duration
	// Observe hears what the service does. Default: nobody.
	Observe obs.Hooks
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	set(&c.Floor, 30*time.Second)
	set(&c.Ceiling, 10*time.Minute)
	set(&c.Patience, 15*time.Minute)
	set(&c.StuckTimeout, 2*time.Hour)
	set(&c.SweepInterval, time.Minute)
	set(&c.DrainTimeout, 10*time.Second)
	c.Ceiling = max(c.Ceiling, c.Floor)
	return c
}

// Service is the poller. Any number of replicas may run.
type Service struct {
	cfg   Config
	pace  Pace
	waits waits
	lists lists
}

// New returns a poller, or what is missing in its configuration.
func New(cfg Config) (*Service, error) {
	if cfg.Bus == nil || cfg.Jobs == nil || cfg.Provider == nil || cfg.BusID == "" {
		return nil, errors.New("configure poller: bus, jobs, provider and bus id are needed")
	}
	for _, key := range cfg.Keys {
		if !events.IsToken(key) {
			return nil, fmt.Errorf("configure poller: the key name %q is no token", key)
		}
	}
	cfg = cfg.withDefaults()
	return &Service{cfg: cfg, pace: Pace{
		Floor: cfg.Floor, Ceiling: cfg.Ceiling, Patience: cfg.Patience, Stuck: cfg.StuckTimeout,
	}}, nil
}

// Name is "poller".
func (s *Service) Name() string { return "poller" }

// Run polls until ctx ends. It returns nil only then.
func (s *Service) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.sweeps(ctx) })
	options := jetstore.EachOptions{Workers: max(2, len(s.cfg.Keys)), DrainTimeout: s.cfg.DrainTimeout}
	options.Hooks = s.cfg.Observe.Loop(obs.LoopPollerTicks, func(subject string, err error) {
		s.cfg.Log.Warn().Err(err).Str("subject", subject).Msg("tick not handled")
	})
	err := s.cfg.Bus.Each(ctx, jetstore.StreamTimers, jetstore.ConsumerPoller, options, func(ctx context.Context, d jetstore.Delivery) error {
		return s.tick(ctx, d.Subject)
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}
