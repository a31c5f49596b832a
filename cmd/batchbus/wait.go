package main

import (
	"context"
	"errors"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

type waitCommand struct {
	jobArg
	waitFlags
	JSON bool `name:"json" help:"Print the summary as JSON on stdout."`

	busFlags
	servingFlags
}

// run waits for the end of a job. Its exit codes are those of run.
func (w *waitCommand) run(ctx context.Context, env app.Env) (int, error) {
	return follow(ctx, env, &w.jobArg, &w.waitFlags, &w.busFlags, &w.servingFlags, w.wait)
}

// follow does work, which follows a job to its end, with all services beside it where there is no deployment.
func follow(
	ctx context.Context, env app.Env, arg *jobArg, wait *waitFlags, at *busFlags, serve *servingFlags,
	work func(ctx context.Context, env app.Env, bus *app.Bus, job *events.JobStatus) (int, error),
) (int, error) {
	local, faults := serve.local(env, at.Data, at.storeFlags)
	if err := errors.Join(append(faults, wait.check(), at.check())...); err != nil {
		return app.ExitFault, err
	}
	if at.Data != "" {
		if err := app.MustExist(at.Data); err != nil {
			return app.ExitFault, err
		}
	}
	ctx, cancel := wait.bound(ctx)
	defer cancel()
	code, err := at.served(ctx, env, local, func(ctx context.Context, bus *app.Bus) (int, error) {
		job, err := arg.find(ctx, bus)
		if err != nil {
			return app.ExitFault, causeOf(ctx, err)
		}
		code, err := work(ctx, env, bus, &job)
		return code, causeOf(ctx, err)
	})
	return ended(ctx, env, code, err, jobGoesOn)
}

func (w *waitCommand) wait(ctx context.Context, env app.Env, bus *app.Bus, job *events.JobStatus) (int, error) {
	begun := time.Now()
	bar := newProgress(env, job.Rows)
	defer bar.stop()
	f := &follower{bus: bus, id: idOf(job), saw: func(_ context.Context, v *view) (bool, error) {
		bar.rows = v.rows()
		bar.show(v, v.answered(), v.answered()-v.job.Rejected)
		return v.completed(), nil
	}}
	if err := f.follow(ctx); err != nil {
		return app.ExitFault, err
	}
	bar.stop()
	sum, err := sumUp(ctx, f, begun)
	if err != nil {
		return app.ExitFault, err
	}
	return sum.exitCode(), sum.report(env, w.JSON)
}

// sumUp sums up the complete job that f followed; the dead letters are counted on the bus.
func sumUp(ctx context.Context, f *follower, begun time.Time) (summary, error) {
	letters := &answers{bus: f.bus, id: f.id, to: counting{}}
	err := letters.readDeadLetters(ctx)
	return summaryOf(&f.view, *f.job.Totals, letters.deadLetters, begun), err
}
