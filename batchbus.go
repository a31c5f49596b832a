package batchbus

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// The services, in the order in which a row meets them.
const (
	Ingest    = app.Ingest    // judges what was published, packs it into blocks, and answers the control API
	Submitter = app.Submitter // plans batches, uploads and creates them; the only one that spends money
	Poller    = app.Poller    // follows them
	Collector = app.Collector // publishes the results
)

// DefaultKey is the name of the API key of queues that name none.
const DefaultKey = app.DefaultKey

// Times are the times that services work by: deadlines, intervals, graces. A zero field is the default; docs/operations.md says what each does,
// under the flag of its name.
type Times = app.Settings

// Config is what [Run] runs.
type Config struct {
	// Conn is the program's own connection to the bus. Run uses it for all services and leaves it open. Open it with
	// nats.MaxReconnects(-1): services wait for a bus that is away, and end with an error when their connection has been given up.
	Conn *nats.Conn
	// Services are those to run, each once; nil is all four.
	Services []string

	// Keys are the provider's API keys by name; there must be one unless Ingest runs alone. A queue names its key, else it is [DefaultKey].
	Keys map[string]doubleword.Secret
	// BaseURL is the provider's; empty is Doubleword's own, https://api.doubleword.ai/v1.
	BaseURL string
	// Transport carries the calls of the provider; nil: connections of the network.
	Transport http.RoundTripper
	// Calls bounds the calls of the provider, of all services together. The zero value is the default of --max-provider-calls.
	Calls doubleword.BudgetConfig
	// Prices is a price table as of --prices (docs/operations.md), JSON; nil: answers have no cost.
	Prices []byte

	// Setup makes what the bus lacks of Topology at the start; without it a bus that lacks something is an error.
	Setup    bool
	Topology jetstore.Settings
	// Times; the zero value is the defaults for a provider that takes minutes to hours.
	Times Times

	// WithoutAPI leaves out the control API that Ingest and Submitter answer otherwise.
	WithoutAPI bool
	// Admin is an address to serve /livez, /readyz and /metrics on; empty: none.
	Admin string
	// Registry takes the metrics, once a process; nil: one that only Admin shows.
	Registry *prometheus.Registry
	// Log takes what the services have to say, never the text of a row or a key. The zero value takes nothing.
	Log zerolog.Logger
	// Ready, when set, is called once all services run.
	Ready func()
}

// Run runs the services until ctx ends, and returns nil then, after the work in hand is done (Times.DrainTimeout, 10 s, at the longest). Any
// other end is an error: faults of the config, all of them joined; a bus that cannot be used; a service that ended by itself. A bus that is away
// at the start is waited for. What was begun is on the bus, and the next Run of anybody goes on with it. Several Runs in one process are as good as several processes.
func Run(ctx context.Context, c Config) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	return app.Run(ctx, o)
}

// connectTimeout is how long a start waits for a bus that is away: for ever, as the programs in cmd/ do.
const connectTimeout = time.Duration(math.MaxInt64)

func (c *Config) options() (app.Options, error) {
	o := app.Options{
		Services: c.Services, Conn: c.Conn, ConnectTimeout: connectTimeout,
		Keys: c.Keys, BaseURL: c.BaseURL, Transport: c.Transport, Calls: c.Calls,
		Setup: c.Setup, Topology: c.Topology, Settings: c.Times,
		WithoutAPI: c.WithoutAPI, Admin: c.Admin, Registry: c.Registry, Log: c.Log, Ready: c.Ready,
	}
	if o.Services == nil {
		o.Services = app.Names()
	}
	if o.BaseURL == "" {
		o.BaseURL = doubleword.DefaultBaseURL
	}
	if c.Prices == nil {
		return o, nil
	}
	table, err := prices.Parse(c.Prices)
	if err != nil {
		return o, fmt.Errorf("read prices: %w", err)
	}
	o.Prices = table
	return o, nil
}
