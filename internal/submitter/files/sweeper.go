package files

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/doubleword"
)

// Provider is what this package needs of an account at a provider. A [doubleword.Client] says what is known after each call fails. It must
// be safe for concurrent use.
type Provider interface {
	Capabilities() doubleword.Capabilities
	Files(ctx context.Context, q doubleword.FileQuery) (doubleword.FilePage, error)
	Batches(ctx context.Context, q doubleword.BatchQuery) (doubleword.BatchPage, error)
	DeleteFile(ctx context.Context, id string) (deleted bool, err error)
}

// Jobs is where batches have their states. Batch asks the leader; its error is [jetstore.ErrNotFound] when there is none.
type Jobs interface {
	Batch(ctx context.Context, queue, job, n string) (jobs.Batch, error)
}

// Defaults of [Config].
const (
	// DefaultAge is far longer than all that can lie between a file and what names it: an upload (half an hour without a sign of life, hours
	// for the largest over a thin line), a fence (about an hour), the lag of a list and the difference of two clocks (minutes).
	DefaultAge = 24 * time.Hour
	// DefaultInterval is rare: an orphan costs nothing, and a sweep lists every file of ours.
	DefaultInterval = time.Hour
)

// Config says what is swept. Jobs, BusID and Provider have no default.
type Config struct {
	Jobs Jobs
	// BusID is the bus' own random name, which stands in the names of its files.
	BusID string
	// Keys are the names of the API keys whose accounts are swept, and Provider returns the account of one; false: no such key.
	Keys     []string
	Provider func(key string) (Provider, bool)
	Log      zerolog.Logger // the default says nothing
	// Observe hears of each round and of each deleted file. Default: nobody.
	Observe obs.Hooks
	// Age is how old a file must be. Default [DefaultAge].
	Age time.Duration
	// Interval is the time between two sweeps, jittered by a tenth. Default [DefaultInterval].
	Interval time.Duration
}

// Sweeper sweeps. Run it once.
type Sweeper struct{ Config }

// New checks the config. It asks nobody anything.
func New(c Config) (*Sweeper, error) {
	if c.Jobs == nil || c.BusID == "" || c.Provider == nil {
		return nil, errors.New("configure files: jobs, a bus id and a provider are needed")
	}
	if c.Age <= 0 {
		c.Age = DefaultAge
	}
	if c.Interval <= 0 {
		c.Interval = DefaultInterval
	}
	return &Sweeper{Config: c}, nil
}

// Name is "files".
func (s *Sweeper) Name() string { return "files" }

// Run sweeps every Interval until ctx ends; then it returns nil. The first sweep comes after a random part of the interval, since replicas
// start together and nothing is urgent. A sweep that fails is logged; the next one does what it could not do.
func (s *Sweeper) Run(ctx context.Context) error {
	pause := rand.N(s.Interval) //nolint:gosec // spreads load, guards nothing
	for {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn().Err(err).Msg("sweep of input files ended early")
		}
		pause = s.Interval - s.Interval/10 + rand.N(s.Interval/5+1) //nolint:gosec // spreads load, guards nothing
	}
}
