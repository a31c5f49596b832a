package app

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// monitor is what shows how this process and the bus are.
type monitor struct {
	registry *prometheus.Registry
	metrics  *obs.Metrics
	health   *obs.Health
	budget   *doubleword.Budget // of the calls of all services of this process
}

func newMonitor(o *Options) (*monitor, error) {
	budget, err := doubleword.NewBudget(o.Calls)
	if err != nil {
		return nil, err
	}
	registry := o.Registry
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	m := &monitor{registry: registry, metrics: obs.New(registry), health: obs.NewHealth(time.Now, intervals(o)), budget: budget}
	if o.needsProvider() {
		registry.MustRegister(obs.Calls(budget))
	}
	return m, nil
}

// Rounds of loops take at most so long, beside their waits.
const (
	consumeInterval = 10 * time.Second // a consume loop beats so often while the bus answers, see [jetstore.Hooks]
	handleAllowance = time.Minute      // the longest that ingest handles one fetch
	sweepAllowance  = 10 * time.Minute // what a sweep finds, it does: a walk, a collection
	uploadAllowance = 35 * time.Minute // an upload and the POST after it
)

// intervals are how long a round of each loop of the services takes at most.
func intervals(o *Options) map[string]time.Duration {
	sweep := o.Settings.SweepInterval + sweepAllowance
	all := map[string]map[string]time.Duration{
		Ingest:    {obs.LoopIngestFetch: consumeInterval + handleAllowance, obs.LoopIngestSweep: sweep},
		Poller:    {obs.LoopPollerTicks: consumeInterval, obs.LoopPollerSweep: sweep},
		Collector: {obs.LoopCollectorEvents: consumeInterval, obs.LoopCollectorSweep: sweep},
		Submitter: {
			obs.LoopSubmitterEvents: consumeInterval, obs.LoopSubmitterSweep: o.Settings.SweepInterval + uploadAllowance,
			obs.LoopPlannerRows: consumeInterval, obs.LoopPlannerSweep: sweep,
			obs.LoopKeeperSweep: o.Settings.KeepInterval + sweepAllowance,
			obs.LoopFilesSweep:  o.Settings.OrphanInterval + sweepAllowance,
		},
	}
	loops := make(map[string]time.Duration)
	for _, service := range o.Services {
		maps.Copy(loops, all[service])
	}
	return loops
}

// connection is what health asks of a connection.
type connection struct{ *nats.Conn }

// Reconnects counts how often the connection came back.
func (c connection) Reconnects() uint64 { return c.Stats().Reconnects }

// connected takes note of a service's connection and returns the hooks of the service.
func (m *monitor) connected(service string, d *deps, first bool) obs.Hooks {
	c := connection{d.nc}
	m.health.Connect(service, c)
	m.registry.MustRegister(obs.Reconnects(service, c), obs.Full(service, d.bus))
	m.health.Check(obs.Room(service, d.bus))
	d.bus.OnFull(tellFull(d.log(service)))
	if first {
		topology := &topologyCheck{bus: d.bus, options: d.options}
		m.health.Check(topology.fault)
		m.health.Check((&answerCheck{bus: d.bus}).fault)
		m.registry.MustRegister(obs.NewState(d.jobs, d.bus.JetStream()))
	}
	return m.metrics.Hooks(service, m.health)
}

const (
	topologyInterval = 30 * time.Second // at most so often the topology is looked at for /readyz
	topologyTimeout  = 3 * time.Second
)

// topologyCheck looks whether the bus still has its topology, not too often. It is safe for concurrent use.
type topologyCheck struct {
	bus     *jetstore.Store
	options *Options

	mu     sync.Mutex
	nextAt time.Time
	last   error
}

// fault is what the last look found. A bus that does not answer keeps what is known: that is [answerCheck]'s.
func (t *topologyCheck) fault() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Now().Before(t.nextAt) {
		return t.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), topologyTimeout)
	defer cancel()
	err := checkTopology(ctx, t.options, t.bus)
	if err == nil || isDrift(err) {
		t.last = err
	}
	t.nextAt = time.Now().Add(topologyInterval)
	if t.last != nil {
		return fmt.Errorf("check topology: %w", t.last)
	}
	return nil
}
