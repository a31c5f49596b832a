package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

// busFlags name the bus that a command works on: a deployment's, or the embedded one of a data directory.
type busFlags struct {
	app.ConnectionFlags `embed:"" group:"NATS"`

	Data string `placeholder:"DIR" help:"Work on the embedded bus in this folder, which no other process may have open, and not on a NATS server."`
	storeFlags
}

// check reports every fault that shows without connecting.
func (f *busFlags) check() error {
	switch {
	case f.Data == "":
		return f.Check()
	case f.Given():
		return errors.New("--data and the flags of a NATS server exclude each other")
	default:
		return nil
	}
}

// onBus is what a command does on a bus.
type onBus func(ctx context.Context, bus *app.Bus) (int, error)

// look does work on the bus, and tells how it ended. In a data directory only the control API runs beside it: what it is asked to do by a
// message is done when services run there.
func (f *busFlags) look(ctx context.Context, env app.Env, work onBus) (int, error) {
	log, err := newLog(env.Stderr, "warn")
	if err := errors.Join(err, f.check()); err != nil {
		return app.ExitFault, err
	}
	code, err := f.answered(ctx, app.LocalOptions{
		Dir: f.Data, MaxStore: f.MaxStore, KeyFile: f.StoreKeyFile, Inspect: true, Log: log,
	}, work)
	return ended(ctx, env, code, err, "Whatever was asked for may be done or not; the same command may be given again.")
}

// answered does work on the bus, with the control API beside it where there is no deployment.
func (f *busFlags) answered(ctx context.Context, o app.LocalOptions, work onBus) (int, error) {
	if f.Data == "" {
		return connected(ctx, f.remote, work)
	}
	local, err := app.OpenLocal(ctx, o)
	if err != nil {
		return app.ExitFault, err
	}
	stop, err := local.Answer(ctx)
	if err != nil {
		return app.ExitFault, errors.Join(err, local.Close())
	}
	code, err := connected(ctx, local.Connect, work)
	return code, errors.Join(err, stop(), local.Close())
}

// served does work on the bus, with all services beside it where there is no deployment.
func (f *busFlags) served(ctx context.Context, env app.Env, o app.LocalOptions, work onBus) (int, error) {
	if f.Data == "" {
		return connected(ctx, f.remote, work)
	}
	tellProvider(env, &o)
	return serving(ctx, env, o, func(ctx context.Context, local *app.Local) (int, error) {
		return connected(ctx, local.Connect, work)
	})
}

func (f *busFlags) remote(name string) (*app.Bus, error) {
	bus, err := app.OpenBus(name, f.Dial)
	if errors.Is(err, nats.ErrNoServers) {
		err = fmt.Errorf("%w: does a NATS server run there? --nats names another one, --data DIR an embedded one", err)
	}
	return bus, err
}

func connected(ctx context.Context, connect func(name string) (*app.Bus, error), work onBus) (int, error) {
	bus, err := connect("batchbus-tool")
	if err != nil {
		return app.ExitFault, err
	}
	defer bus.Close()
	code, err := work(ctx, bus)
	if err != nil {
		code = app.ExitFault
	}
	return code, err
}

// jobArg names a job on the command line.
type jobArg struct {
	Job   string `arg:"" help:"Name of the job, or the provider's id of one of its batches."`
	Queue string `default:"default" help:"Queue that the job belongs to."`
}

func (a *jobArg) ref() events.JobRef { return events.JobRef{Queue: a.Queue, Job: a.Job} }

// find returns the job that the argument names, as it is now.
func (a *jobArg) find(ctx context.Context, bus *app.Bus) (events.JobStatus, error) {
	status, err := bus.Client.Job(ctx, a.ref())
	return status, explain(err)
}

// explain leaves out of a refusal of the control API what is for programs.
func explain(err error) error {
	if refused, ok := errors.AsType[*events.APIError](err); ok {
		return errors.New(refused.Message)
	}
	return err
}
