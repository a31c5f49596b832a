package app

import (
	"errors"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/internal/ingest"
	"github.com/batchbus/batchbus/internal/poller"
	"github.com/batchbus/batchbus/internal/submitter"
	"github.com/batchbus/batchbus/internal/submitter/plan"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
)

// The services, each also the name of its command.
const (
	Ingest    = "ingest"
	Submitter = "submitter"
	Poller    = "poller"
	Collector = "collector"
)

// Names are the services in the order in which a row meets them.
func Names() []string { return []string{Ingest, Submitter, Poller, Collector} }

// build is the one table from names to services.
func build(name string, d *deps) (Service, error) {
	switch name {
	case Ingest:
		service, err := buildIngest(d)
		return withAPI(d, service, err)
	case Submitter:
		service, err := buildSubmitter(d)
		service, err = withAPI(d, service, err)
		service, err = withKeeper(d, service, err)
		return withFiles(d, service, err)
	case Poller:
		service, err := buildPoller(d)
		return withWebhook(d, service, err)
	case Collector:
		return buildCollector(d)
	case Gateway:
		return buildGateway(d)
	default:
		return nil, errors.New("no such service") // validate has refused it
	}
}

func buildPoller(d *deps) (*poller.Service, error) {
	s := d.options.Settings
	return poller.New(poller.Config{
		Bus: d.bus, Jobs: d.jobs, Log: d.log(Poller), Observe: d.observe, BusID: d.busID, Keys: d.clients.names(),
		Provider: providers(d.clients, func(c *doubleword.Client) poller.Provider { return c }),
		Floor:    s.PollFloor, Ceiling: s.PollCeiling, Patience: s.Patience, StuckTimeout: s.StuckTimeout,
		SweepInterval: s.SweepInterval, DrainTimeout: s.DrainTimeout,
	})
}

func buildIngest(d *deps) (Service, error) {
	s := d.options.Settings
	return ingest.New(ingest.Config{
		Bus: d.bus, Jobs: d.jobs, Log: d.log(Ingest), Observe: d.observe, SweepInterval: s.SweepInterval, DrainTimeout: s.DrainTimeout,
		Policies: d.queues,
	})
}

func buildCollector(d *deps) (Service, error) {
	s := d.options.Settings
	return collector.New(collector.Config{
		Bus: d.bus, Jobs: d.jobs, Log: d.log(Collector), Observe: d.observe, Prices: d.options.Prices,
		Provider:     providers(d.clients, func(c *doubleword.Client) collector.Provider { return c }),
		Aside:        max(2*doubleword.DefaultMaxCalls, d.options.Calls.MaxCalls),
		MissingGrace: s.MissingGrace, CancelGrace: s.CancelGrace, OutageTimeout: s.Patience,
		SweepInterval: s.SweepInterval, DrainTimeout: s.DrainTimeout,
	})
}

func buildSubmitter(d *deps) (Service, error) {
	s, log := d.options.Settings, d.log(Submitter)
	planner, err := plan.New(plan.Config{
		Bus: d.bus, Jobs: d.jobs, Log: log, Observe: d.observe, Policy: d.queues.Policy,
		SweepInterval: s.SweepInterval, DrainTimeout: s.DrainTimeout, HandoffDelay: d.options.HandoffDelay,
	})
	if err != nil {
		return nil, err
	}
	batches, err := submit.New(submit.Config{
		Bus: d.bus, Jobs: d.jobs, Log: log, Observe: d.observe, BusID: d.busID,
		Provider:      providers(d.clients, func(c *doubleword.Client) submit.Provider { return c }),
		CreateTimeout: s.CreateTimeout, QuietPeriod: s.QuietPeriod, UploadAllowance: s.UploadAllowance,
		FirstPollInterval: s.PollFloor, Policy: d.queues.Policy, Prices: d.options.Prices,
		SweepInterval: s.SweepInterval, DrainTimeout: s.DrainTimeout,
	})
	if err != nil {
		return nil, err
	}
	return submitter.New(submitter.Config{
		Bus: d.bus, Planner: planner, Batches: batches, Log: log, Observe: d.observe, DrainTimeout: s.DrainTimeout,
	})
}
