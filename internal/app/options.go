package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Options are what [Run] runs with.
type Options struct {
	// Services are the names of the services to run, each once.
	Services []string
	// Dial opens a connection to the bus under the given client name. Every service has its own, which Run closes.
	Dial func(name string) (*nats.Conn, error)
	// Conn, in place of Dial, is one connection for all services, which Run leaves open.
	Conn *nats.Conn
	// ConnectTimeout is how long the start waits for a bus that is away. 0: not at all.
	ConnectTimeout time.Duration
	// BaseURL is the provider's, and Keys the API keys by name.
	BaseURL string
	Keys    map[string]doubleword.Secret
	// Transport carries the calls of the provider; nil: connections of the network.
	Transport http.RoundTripper
	// Calls bounds the calls of the provider of all services together.
	Calls doubleword.BudgetConfig
	// WithoutAPI leaves out the control API that ingest and the submitter answer otherwise.
	WithoutAPI bool
	// Webhook takes webhooks beside the poller.
	Webhook WebhookOptions
	// Gateway says how the gateway takes calls, where it is one of the services.
	Gateway GatewayOptions
	// Topology is what the bus should hold. Setup makes what is missing; without it the topology is only checked.
	Topology jetstore.Settings
	Setup    bool
	// StreamsOnly looks whether the streams that the gateway needs are there, and at nothing else of the topology.
	StreamsOnly bool
	Settings    Settings
	// Prices says what answers cost; nil knows no price.
	Prices *prices.Table
	Log    zerolog.Logger
	// HandoffDelay is for how long a replica without a job's index leaves its rows to the one that has it. 0 is the default, 2 s.
	HandoffDelay time.Duration
	// Admin is the address that /livez, /readyz and /metrics are served on; empty: none.
	Admin string
	// Registry takes the metrics; nil: one of Run's own.
	Registry *prometheus.Registry
	// Failpoints hear of every outside effect of the services; nil, as everywhere but in tests: nobody does.
	Failpoints *failpoint.Registry
	// Ready, when set, is called once all services run.
	Ready func()
}

// validate reports every fault at once.
func (o *Options) validate() error {
	var faults []error
	if len(o.Services) == 0 {
		faults = append(faults, errors.New("no service to run"))
	}
	for _, name := range o.Services {
		if name != Gateway && !slices.Contains(Names(), name) {
			faults = append(faults, fmt.Errorf("no service is called %q: there are %v", name, Names()))
		}
	}
	if (o.Dial == nil) == (o.Conn == nil) {
		faults = append(faults, errors.New("one of a connection to the bus and a way to dial it is needed"))
	}
	return errors.Join(append(faults, o.checkProvider()...)...)
}

// dial returns a service's connection to the bus, and what closes it when it is the service's own.
func (o *Options) dial(service string) (nc *nats.Conn, hangUp func(), err error) {
	if o.Conn != nil {
		return o.Conn, func() {}, nil
	}
	nc, err = o.Dial("batchbus-" + service)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the bus: %w", err)
	}
	return nc, nc.Close, nil
}

// needsProvider tells whether one of the services talks to the provider: all but ingest do, and the gateway can do without.
func (o *Options) needsProvider() bool {
	return slices.ContainsFunc(o.Services, func(name string) bool { return name != Ingest && name != Gateway })
}

func (o *Options) checkProvider() (faults []error) {
	if !o.needsProvider() {
		return nil
	}
	if len(o.Keys) == 0 {
		faults = append(faults, fmt.Errorf("no API key: set %s or %s", EnvKey, EnvKeyFile))
	}
	faults = append(faults, checkURL(o.BaseURL))
	for name, key := range o.Keys {
		if _, err := doubleword.New(doubleword.Config{Key: key}); err != nil {
			faults = append(faults, fmt.Errorf("check key %q: %w", name, err))
		}
	}
	return faults
}

// checkURL looks at a provider's base URL, with a key that is certainly right.
func checkURL(base string) error {
	_, err := doubleword.New(doubleword.Config{BaseURL: base, Key: doubleword.NewSecret("x")})
	return err
}

// topologyOf makes or checks the bus's topology.
func topologyOf(ctx context.Context, o *Options, store *jetstore.Store) error {
	if o.Setup {
		return jetstore.Setup(ctx, store.JetStream(), o.Topology)
	}
	return checkTopology(ctx, o, store)
}

func checkTopology(ctx context.Context, o *Options, store *jetstore.Store) error {
	if o.StreamsOnly {
		return jetstore.Present(ctx, store.JetStream(), jetstore.StreamRequests, jetstore.StreamResults, jetstore.StreamDeadletters,
			jetstore.StreamJobs, jetstore.StreamQueues, jetstore.StreamObjects, jetstore.StreamCalls)
	}
	return jetstore.Check(ctx, store.JetStream(), o.Topology)
}
