package app

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Run runs the services until ctx ends; it returns nil then, after they have drained. Anything else that ends it is an error: a fault of
// the options, all of them joined; a bus that cannot be reached within ConnectTimeout, lacks a permission or whose topology differs; a service
// that stopped by itself. The admin address is the first to open and the last to close.
func Run(ctx context.Context, o Options) error {
	if err := o.validate(); err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	o.Settings = o.Settings.OrElse(DefaultSettings())
	m, err := newMonitor(&o)
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	admin, err := m.serve(ctx, o.Admin)
	if err != nil {
		return err
	}
	defer admin.close(ctx)
	services := make([]Service, 0, len(o.Services))
	for i, name := range o.Services {
		d, err := await(ctx, &o, m, name, i == 0)
		if ctx.Err() != nil && d == nil {
			return nil // told to end before it began
		}
		if err != nil {
			return err
		}
		defer d.hangUp()
		service, err := build(name, d)
		if err != nil {
			return fmt.Errorf("build %s: %w", name, err)
		}
		services = append(services, service)
	}
	return m.supervise(ctx, &o, services)
}

// supervise says when the services are ready, and when they are not any more, and runs them.
func (m *monitor) supervise(ctx context.Context, o *Options, services []Service) error {
	defer context.AfterFunc(ctx, m.health.Drain)()
	m.health.Start()
	o.Log.Debug().Strs("services", o.Services).Msg("running")
	if o.Ready != nil {
		o.Ready()
	}
	return supervise(ctx, services)
}

// advisedPayload is the max_payload that docs/operations.md asks for: what the embedded server takes.
const advisedPayload = 8 << 20

// deps is what one service is built from.
type deps struct {
	options *Options
	clients clients
	observe obs.Hooks
	nc      *nats.Conn
	hangUp  func() // closes nc, if it is ours
	bus     *jetstore.Store
	jobs    *jobs.Store
	queues  *queues.Store
	busID   string

	registry prometheus.Registerer // takes what a service counts beside the hooks
}

// connect opens a service's own connection. The first one sees to the topology, and shows how the bus is.
func connect(ctx context.Context, o *Options, m *monitor, name string, first bool) (*deps, error) {
	nc, hangUp, err := o.dial(name)
	if err != nil {
		return nil, err
	}
	d, err := open(ctx, o, nc, name, first)
	if err != nil {
		hangUp()
		return nil, err
	}
	d.hangUp, d.registry = hangUp, m.registry
	d.observe = m.connected(name, d, first)
	if d.clients, err = newClients(o, m.metrics, m.budget, name); err != nil {
		hangUp()
		return nil, err
	}
	return d, nil
}

func open(ctx context.Context, o *Options, nc *nats.Conn, name string, first bool) (*deps, error) {
	if err := checkRights(ctx, nc, name, Rights(name, o.Setup && first), &o.Log); err != nil {
		return nil, err
	}
	bus, err := jetstore.Open(nc)
	if err != nil {
		return nil, err
	}
	bus = bus.Probed(o.Failpoints.Probe(name))
	if first {
		if err := topologyOf(ctx, o, bus); err != nil {
			return nil, err
		}
		if size := bus.MaxPayload(); size < advisedPayload {
			o.Log.Warn().Int("max_payload", size).Int("advised", advisedPayload).
				Msg("the server takes small messages only: larger rows and answers travel as objects, which is slower")
		}
	}
	busID, err := bus.BusID(ctx)
	if err != nil {
		return nil, err
	}
	return &deps{options: o, nc: nc, bus: bus, jobs: jobs.New(bus), queues: queues.New(bus, o.Settings.Linger), busID: busID}, nil
}

// log is the logger of one service.
func (d *deps) log(service string) zerolog.Logger {
	return d.options.Log.With().Str("service", service).Logger()
}
