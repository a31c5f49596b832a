package submit

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Files is what this package needs of a provider's files. A [doubleword.Client] says what is known after each call fails. UploadFile must
// return only after write has returned.
type Files interface {
	UploadFile(ctx context.Context, name string, write func(io.Writer) error) (doubleword.File, error)
	DeleteFile(ctx context.Context, id string) (deleted bool, err error)
	AllFiles(ctx context.Context, q doubleword.FileQuery) iter.Seq2[doubleword.File, error]
}

// Batches is what this package needs of a provider's batches. A [doubleword.Client] says what is known after each call fails.
type Batches interface {
	CreateBatch(ctx context.Context, batch doubleword.NewBatch) (doubleword.Batch, error)
	Batch(ctx context.Context, id string) (doubleword.Batch, error)
	CancelBatch(ctx context.Context, id string) (doubleword.Batch, error)
	AllBatches(ctx context.Context, q doubleword.BatchQuery) iter.Seq2[doubleword.Batch, error]
}

// Provider is one account at a provider. It must be safe for concurrent use.
type Provider interface {
	Files
	Batches
	Capabilities() doubleword.Capabilities
}

// Defaults of [Config].
const (
	DefaultQuietPeriod       = 10 * time.Minute
	DefaultUploadAllowance   = 30 * time.Minute
	DefaultFirstPollInterval = 15 * time.Second
	DefaultSweepInterval     = time.Minute
	DefaultDrainTimeout      = 10 * time.Second
	DefaultWorkers           = 4
)

// Config says how batches are submitted. Bus, Jobs, BusID and Provider have no default.
type Config struct {
	Bus  *jetstore.Store
	Jobs *jobs.Store
	Log  zerolog.Logger
	// Observe hears what the service does. Default: nobody.
	Observe obs.Hooks
	// BusID is the bus' own random name, see [jetstore.Store.BusID].
	BusID string
	// Provider returns the account of an API key by the key's name; false when no such key is configured.
	Provider func(key string) (Provider, bool)
	// Policy is the policy of a queue now, whose limits of the queue and of a day are read from it. Default: there are none.
	Policy func(ctx context.Context, queue string) (events.Policy, error)
	// Prices says what batches may cost, for limits of money. Default: nobody knows, and a batch under such a limit is held.
	Prices *prices.Table
	// CreateTimeout is the hard deadline of one POST; the default is [doubleword.DefaultCreateTimeout]. All replicas must use the same, and no
	// provider may use a longer one.
	CreateTimeout time.Duration
	// QuietPeriod is how long after its client gave up a POST may still be committed by the server and then be missing from a list:
	// server slack + replica lag. Longer only makes lost answers slower to resolve. Default [DefaultQuietPeriod].
	QuietPeriod time.Duration
	// UploadAllowance is how long a fence's second upload may go without a sign of life. Default [DefaultUploadAllowance].
	UploadAllowance time.Duration
	// FirstPollInterval is when a submitted batch is due to be polled first. Default [DefaultFirstPollInterval].
	FirstPollInterval time.Duration
	// SweepInterval is the time between two sweeps, jittered by a tenth. Default [DefaultSweepInterval].
	SweepInterval time.Duration
	// DrainTimeout is how long a POST that is under way when the process is told to stop may still take. Default [DefaultDrainTimeout].
	DrainTimeout time.Duration
	// Workers is how many batches one sweep drives at a time. Default [DefaultWorkers].
	Workers int
	// Owner is this process' name in the states that it owns; a random one by default.
	Owner string
}

func (c Config) withDefaults() (Config, error) {
	if c.Bus == nil || c.Jobs == nil || c.Provider == nil || c.BusID == "" {
		return c, errors.New("configure submitter: bus, jobs, bus id and provider are needed")
	}
	c.CreateTimeout = orDefault(c.CreateTimeout, doubleword.DefaultCreateTimeout)
	c.QuietPeriod = orDefault(c.QuietPeriod, DefaultQuietPeriod)
	c.UploadAllowance = orDefault(c.UploadAllowance, DefaultUploadAllowance)
	c.FirstPollInterval = orDefault(c.FirstPollInterval, DefaultFirstPollInterval)
	c.SweepInterval = orDefault(c.SweepInterval, DefaultSweepInterval)
	c.DrainTimeout = orDefault(c.DrainTimeout, DefaultDrainTimeout)
	c.Workers = orDefault(c.Workers, DefaultWorkers)
	c.Owner = orDefault(c.Owner, rand.Text())
	return c, nil
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// patience is how long a process waits for what another one may still be doing.
type patience struct {
	answer time.Duration // found creating: the POST's deadline, server slack and replica lag
	quiet  time.Duration // after the input file is gone
	owner  time.Duration // found fencing: both quiet periods of its owner, and the upload
}

func (c Config) patience() patience {
	return patience{
		answer: c.CreateTimeout + c.QuietPeriod,
		quiet:  c.QuietPeriod,
		owner:  2*c.QuietPeriod + c.UploadAllowance,
	}
}
