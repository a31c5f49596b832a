package app

import (
	"context"

	"github.com/batchbus/batchbus/internal/api"
	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/keep"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/internal/submitter/files"
	"github.com/batchbus/batchbus/pkg/doubleword"
)

// accompanied is a service and what runs beside it on the same connection. They share their fate.
type accompanied struct {
	Service
	companions []Service
}

// Run runs all of them; see [Service].
func (a accompanied) Run(ctx context.Context) error {
	return supervise(ctx, append([]Service{a.Service}, a.companions...))
}

// withAPI makes a replica of the service one of the control API too, if that is wanted.
func withAPI(d *deps, service Service, err error) (Service, error) {
	if err != nil || d.options.WithoutAPI {
		return service, err
	}
	bus := d.bus.Probed(d.options.Failpoints.Probe(failpoint.ServiceAPI))
	settings := d.options.Settings
	answers, err := api.New(api.Config{
		Bus: bus, Jobs: jobs.New(bus), Queues: queues.New(bus, settings.Linger), Log: d.log("api"), DrainTimeout: settings.DrainTimeout,
		Prices: d.options.Prices,
	})
	if err != nil {
		return nil, err
	}
	return accompanied{service, []Service{answers}}, nil
}

// withKeeper makes a replica of the service delete what has been kept long enough.
func withKeeper(d *deps, service Service, err error) (Service, error) {
	if err != nil {
		return nil, err
	}
	bus := d.bus.Probed(d.options.Failpoints.Probe(failpoint.ServiceKeeper))
	keeper, err := keep.New(keep.Config{
		Bus: bus, Jobs: jobs.New(bus), Log: d.log("keeper"), Beat: func() { d.observe.Beat(obs.LoopKeeperSweep) },
		ObjectAge: d.options.Settings.ObjectAge, Interval: d.options.Settings.KeepInterval,
	})
	if err != nil {
		return nil, err
	}
	return accompanied{service, []Service{keeper}}, nil
}

// withFiles makes a replica of the service delete input files that nothing refers to.
func withFiles(d *deps, service Service, err error) (Service, error) {
	if err != nil {
		return nil, err
	}
	sweeper, err := files.New(files.Config{
		Jobs: d.jobs, BusID: d.busID, Log: d.log("files"), Observe: d.observe, Keys: d.clients.names(),
		Provider: providers(d.clients, func(c *doubleword.Client) files.Provider { return c }),
		Age:      d.options.Settings.OrphanAge, Interval: d.options.Settings.OrphanInterval,
	})
	if err != nil {
		return nil, err
	}
	return accompanied{service, []Service{sweeper}}, nil
}
