package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Options are what [Run] runs with.
type Options struct {
	// Services are the names of the services to run, each once.
	Services []string
	// Dial opens a connection to the bus under the given client name. Every service has its own.
	Dial func(name string) (*nats.Conn, error)
	// BaseURL is the provider's, and Keys the API keys by name.
	BaseURL string
	Keys    map[string]doubleword.Secret
	// Topology is what the bus should hold. Setup makes what is missing; without it the topology is only checked.
	Topology jetstore.Settings
	Setup    bool
	Settings Settings
	Log      zerolog.Logger
	// Ready, when set, is called once all services run.
	Ready func()
}

// Settings are the times that services work by. Zero values are replaced by those of [DefaultSettings].
type Settings struct {
	CreateTimeout time.Duration // deadline of the paid POST
	QuietPeriod   time.Duration // beyond it, until an unanswered create is taken for settled: server slack and list lag
	PollFloor     time.Duration // the shortest time between two polls of a batch
	PollCeiling   time.Duration // the longest
	Patience      time.Duration // how long 401, 404 and silence are taken for an outage
	MissingGrace  time.Duration // wait for rows that neither file of a finished batch holds
	CancelGrace   time.Duration // the same after a cancel; 0: the job's policy says
	SweepInterval time.Duration // how often each service looks for work that lost its trigger
	DrainTimeout  time.Duration // how long work in flight may go on after the stop
}

// DefaultSettings are for the real provider.
func DefaultSettings() Settings {
	return Settings{
		CreateTimeout: 5 * time.Minute, QuietPeriod: 10 * time.Minute,
		PollFloor: 30 * time.Second, PollCeiling: 10 * time.Minute, Patience: 15 * time.Minute,
		MissingGrace: 2 * time.Minute, SweepInterval: time.Minute, DrainTimeout: 10 * time.Second,
	}
}

// SimulatedSettings are for the simulator beside us, which has no hours to wait for: about a second each.
func SimulatedSettings() Settings {
	return Settings{
		CreateTimeout: 5 * time.Second, QuietPeriod: time.Second,
		PollFloor: time.Second, PollCeiling: 2 * time.Second, Patience: 30 * time.Second,
		MissingGrace: time.Second, CancelGrace: time.Second, SweepInterval: 2 * time.Second, DrainTimeout: 5 * time.Second,
	}
}

func (s Settings) withDefaults() Settings {
	def := DefaultSettings()
	for _, pair := range []struct{ value, otherwise *time.Duration }{
		{&s.CreateTimeout, &def.CreateTimeout}, {&s.QuietPeriod, &def.QuietPeriod},
		{&s.PollFloor, &def.PollFloor}, {&s.PollCeiling, &def.PollCeiling}, {&s.Patience, &def.Patience},
		{&s.MissingGrace, &def.MissingGrace}, {&s.SweepInterval, &def.SweepInterval}, {&s.DrainTimeout, &def.DrainTimeout},
	} {
		if *pair.value <= 0 {
			*pair.value = *pair.otherwise
		}
	}
	return s
}

// validate reports every fault at once.
func (o *Options) validate() error {
	var faults []error
	if len(o.Services) == 0 {
		faults = append(faults, errors.New("no service to run"))
	}
	for _, name := range o.Services {
		if !slices.Contains(Names(), name) {
			faults = append(faults, fmt.Errorf("no service is called %q: there are %v", name, Names()))
		}
	}
	if o.Dial == nil {
		faults = append(faults, errors.New("no way to dial the bus"))
	}
	if err := o.checkProvider(); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// needsProvider tells whether one of the services talks to the provider: all but ingest do.
func (o *Options) needsProvider() bool {
	return slices.ContainsFunc(o.Services, func(name string) bool { return name != Ingest })
}

func (o *Options) checkProvider() error {
	if !o.needsProvider() {
		return nil
	}
	if len(o.Keys) == 0 {
		return errors.New("no API key: set DOUBLEWORD_API_KEY or DOUBLEWORD_API_KEY_FILE")
	}
	_, err := doubleword.New(doubleword.Config{BaseURL: o.BaseURL, Key: doubleword.NewSecret("x")})
	return err
}

// topologyOf makes or checks the bus's topology.
func topologyOf(ctx context.Context, o *Options, store *jetstore.Store) error {
	if o.Setup {
		return jetstore.Setup(ctx, store.JetStream(), o.Topology)
	}
	return jetstore.Check(ctx, store.JetStream(), o.Topology)
}
