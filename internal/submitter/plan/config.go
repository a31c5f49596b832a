package plan

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Defaults of [Config].
const (
	DefaultWorkers        = 2
	DefaultInFlight       = 512 // beyond 256 to 1024 nothing is gained (performance-facts.md section 3)
	DefaultSweepInterval  = time.Minute
	DefaultDrainTimeout   = 10 * time.Second
	DefaultHandoffDelay   = 2 * time.Second
	DefaultObjectPatience = 10 * time.Minute // design.md section 2
	DefaultManifestAge    = time.Hour        // design.md 5.3; a manifest that nobody names is swept after a day
)

// Config says how jobs are planned. Bus and Jobs have no default.
type Config struct {
	Bus  *jetstore.Store
	Jobs *jobs.Store
	Log  zerolog.Logger // the default says nothing
	// Observe hears what the service does. Default: nobody.
	Observe obs.Hooks
	// Policy is the policy of a queue, for a job whose rows came although nobody opened it. Default: [events.DefaultPolicy] for all.
	Policy func(ctx context.Context, queue string) (events.Policy, error)
	// Workers is how many jobs are planned at once. Default [DefaultWorkers].
	Workers int
	// InFlight is how many results and dead letters of one job are under way at once. Default [DefaultInFlight].
	InFlight int
	// SweepInterval is the time between two sweeps, jittered by a tenth. Default [DefaultSweepInterval].
	SweepInterval time.Duration
	// DrainTimeout is how long a walk may go on after the stop. Default [DefaultDrainTimeout].
	DrainTimeout time.Duration
	// HandoffDelay is for how long a wake-up is given back, twice at most, for the replica that has the job's index. Default
	// [DefaultHandoffDelay].
	HandoffDelay time.Duration
	// ObjectPatience is how long after its block an object may be absent before the job is held. Default [DefaultObjectPatience].
	ObjectPatience time.Duration
	// ManifestAge is when a manifest that no batch names yet is stored anew. Default [DefaultManifestAge].
	ManifestAge time.Duration
}

func (c Config) withDefaults() (Config, error) {
	if c.Bus == nil || c.Jobs == nil {
		return c, errors.New("configure planner: a bus and the jobs on it are needed")
	}
	if c.Policy == nil {
		c.Policy = func(context.Context, string) (events.Policy, error) { return events.DefaultPolicy(), nil }
	}
	orDefault(&c.Workers, DefaultWorkers)
	orDefault(&c.InFlight, DefaultInFlight)
	orDefault(&c.SweepInterval, DefaultSweepInterval)
	orDefault(&c.DrainTimeout, DefaultDrainTimeout)
	orDefault(&c.HandoffDelay, DefaultHandoffDelay)
	orDefault(&c.ObjectPatience, DefaultObjectPatience)
	orDefault(&c.ManifestAge, DefaultManifestAge)
	return c, nil
}

func orDefault[T int | time.Duration](value *T, def T) {
	if *value <= 0 {
		*value = def
	}
}
