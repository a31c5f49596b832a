package collector

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Provider is what the collector needs of the provider; [doubleword.Client] is one. All calls only read and can be repeated.
type Provider interface {
	// Content opens the lines of an output or error file.
	Content(ctx context.Context, fileID string, q doubleword.ContentQuery) (*doubleword.Content, error)
	// Results opens the merged view of a batch, which stays when a file is gone.
	Results(ctx context.Context, batchID string, q doubleword.ContentQuery) (*doubleword.Content, error)
	// Batch reads status, counts and errors of a batch.
	Batch(ctx context.Context, id string) (doubleword.Batch, error)
	// Analytics reads what the provider billed for a batch.
	Analytics(ctx context.Context, batchID string) (doubleword.Analytics, error)
}

// Config is what a [Service] is made of. Bus, Jobs and Provider have no default.
type Config struct {
	// Bus carries hints, rows, results and objects.
	Bus *jetstore.Store
	// Jobs reads and changes the states.
	Jobs *jobs.Store
	// Log gets one line per read batch and per trouble, never a body. Default: nothing is logged.
	Log zerolog.Logger
	// Provider gives the provider for the name of an API key; false when no such key is configured.
	Provider func(key string) (Provider, bool)
	// Prices says what answers cost. Default: nobody knows, and results have no cost.
	Prices *prices.Table
	// Observe hears what the service does. Default: nobody.
	Observe obs.Hooks

	// Workers is how many batches are worked on at once. Default 4.
	Workers int
	// Aside is how many batches beside those may be waited for whose answers take longer than a second: more than the provider calls that
	// may be under way at once, or batches that hang can hold up others until their reads time out. Default 32.
	Aside int
	// InFlight is how many results of one batch are under way at once. Default 512: more gains nothing (measured, nats-facts.md).
	InFlight int
	// CommitRows is after how many stored results the cursor is moved. Default 5,000.
	CommitRows int
	// MaxAnswerBytes is the longest line held in memory; a longer one is streamed to an object. Default 64 MiB.
	MaxAnswerBytes int

	// MissingGrace is how long rows that no file holds are waited for once the batch has ended. Default 2 min.
	MissingGrace time.Duration
	// CancelGrace is the same after a cancel, when rows may settle for an hour. Default: the job's policy.
	CancelGrace time.Duration
	// BillTimeout is how long the settlement of a batch waits for a bill that the provider has not added up. Default 1 min.
	BillTimeout time.Duration
	// OutageTimeout is how long a file that answers 404 or 410 is taken for an outage. Default 10 min.
	OutageTimeout time.Duration
	// RetryInterval is the pause before a stream that broke off is read on. Default 5 s.
	RetryInterval time.Duration
	// SweepInterval is how often batches are looked for that lost their hint, jittered by a tenth. Default 60 s.
	SweepInterval time.Duration
	// DrainTimeout is how long work may go on after the end of Run's context. Default 10 s.
	DrainTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.Workers = cmp.Or(c.Workers, 4)
	c.Aside = cmp.Or(c.Aside, 32)
	c.InFlight = cmp.Or(c.InFlight, 512)
	c.CommitRows = cmp.Or(c.CommitRows, 5000)
	c.MaxAnswerBytes = cmp.Or(c.MaxAnswerBytes, doubleword.DefaultMaxLine)
	c.MissingGrace = cmp.Or(c.MissingGrace, 2*time.Minute)
	c.BillTimeout = cmp.Or(c.BillTimeout, time.Minute)
	c.OutageTimeout = cmp.Or(c.OutageTimeout, 10*time.Minute)
	c.RetryInterval = cmp.Or(c.RetryInterval, 5*time.Second)
	c.SweepInterval = cmp.Or(c.SweepInterval, time.Minute)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 10*time.Second)
	return c
}

func (c Config) check() error {
	var faults []error
	if c.Bus == nil {
		faults = append(faults, errors.New("bus is missing"))
	}
	if c.Jobs == nil {
		faults = append(faults, errors.New("jobs store is missing"))
	}
	if c.Provider == nil {
		faults = append(faults, errors.New("provider is missing"))
	}
	if min(c.Workers, c.Aside, c.InFlight, c.CommitRows, c.MaxAnswerBytes) < 0 {
		faults = append(faults, errors.New("workers, aside, in flight, commit rows and max answer bytes must not be negative"))
	}
	return errors.Join(faults...)
}
