package main

import (
	"context"
	"errors"

	"github.com/batchbus/batchbus/internal/app"
)

type runCommand struct {
	jobFlags
	waitFlags
	outFlags

	Data string `default:".batchbus" help:"Folder of the embedded bus. It serves one provider and one process at a time."`
	storeFlags
	servingFlags
}

// run runs files to their end, with everything in this process.
func (r *runCommand) run(ctx context.Context, env app.Env) (int, error) {
	local, faults := r.local(env, r.Data, r.storeFlags)
	_, formatErr := formatOf(r.Format)
	faults = append(faults, r.waitFlags.check(), flagError("--format", formatErr))
	s, err := r.submission(ctx, env, local.ProviderName(), faults)
	if err != nil {
		return ended(ctx, env, app.ExitFault, err, nothingBegun)
	}
	defer s.close()
	if err := checkOut(r.folder(s.id.job), s.id.job, &local.Simulate); err != nil {
		return app.ExitFault, err
	}
	ctx, cancel := r.bound(ctx)
	defer cancel()
	tellProvider(env, &local)
	s.announce("data in " + local.Dir)
	code, err := serving(ctx, env, local, func(ctx context.Context, l *app.Local) (int, error) {
		code, err := connected(ctx, l.Connect, func(ctx context.Context, bus *app.Bus) (int, error) {
			return s.deliver(ctx, bus, r.outFlags, &local.Simulate)
		})
		return code, causeOf(ctx, err)
	})
	return ended(ctx, env, code, err, s.whatNow())
}

// causeOf adds to an error why the ctx ended, which is what a service's fault is told by.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return errors.Join(err, cause)
	}
	return err
}
