package main

import (
	"context"
	"errors"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

// followFlags are those of a command that stays until a job's end.
type followFlags struct {
	followArg
	waitFlags
	busFlags
	servingFlags
}

// followArg is a jobArg that may be left out where a row is named.
type followArg struct {
	Job   string `arg:"" optional:"" help:"Name of the job, or the provider's id of one of its batches."`
	Queue string `default:"default" help:"Queue that the job belongs to."`
}

// find returns the job that the argument names, as it is now.
func (a *followArg) find(ctx context.Context, bus *app.Bus) (events.JobStatus, error) {
	return (&jobArg{Job: a.Job, Queue: a.Queue}).find(ctx, bus)
}

type waitCommand struct {
	JSON bool `name:"json" help:"Print the summary as JSON on stdout."`
	rowFlag
	Since time.Duration `placeholder:"AGE" help:"With --row and no job: only a result of this age at most, for a custom_id that was used before. Default: any."`
	followFlags
}

// run waits for the end of a job, or for the result of one row. Its exit codes are those of run.
func (w *waitCommand) run(ctx context.Context, env app.Env) (int, error) {
	if err := w.checkRow(&w.followArg); err != nil {
		return app.ExitFault, err
	}
	if w.Row == "" {
		return w.follow(ctx, env, w.wait)
	}
	shape, err := formatOf("event")
	if err != nil {
		return app.ExitFault, err
	}
	since := time.Time{}
	if w.Since > 0 {
		since = time.Now().Add(-w.Since)
	}
	return w.serve(ctx, env, rowNotThere, func(ctx context.Context, bus *app.Bus) (int, error) {
		code, err := w.await(ctx, bus, &w.followArg, since, newStream(env.Stdout, shape))
		return code, causeOf(ctx, err)
	})
}

// follow does work, which follows the job to its end, with all services beside it where there is no deployment.
func (f *followFlags) follow(
	ctx context.Context, env app.Env, work func(ctx context.Context, env app.Env, bus *app.Bus, job *events.JobStatus) (int, error),
) (int, error) {
	if f.Job == "" {
		return app.ExitFault, errors.New("name the job")
	}
	return f.serve(ctx, env, jobGoesOn, func(ctx context.Context, bus *app.Bus) (int, error) {
		job, err := f.find(ctx, bus)
		if err != nil {
			return app.ExitFault, causeOf(ctx, err)
		}
		code, err := work(ctx, env, bus, &job)
		return code, causeOf(ctx, err)
	})
}

// rowNotThere is for a wait that ended before its row's result.
const rowNotThere = "No result of that row is there. A row without one may be under way, refused (batchbus deadletters list), or never have been sent."

// serve does work within the timeout, with all services beside it where there is no deployment; whatNow is for a wait that ends before.
func (f *followFlags) serve(ctx context.Context, env app.Env, whatNow string, work onBus) (int, error) {
	local, faults := f.local(env, f.Data, f.storeFlags)
	faults = append(faults, f.waitFlags.check(), f.busFlags.check())
	if f.Data != "" {
		faults = append(faults, app.MustExist(f.Data))
	}
	if err := errors.Join(faults...); err != nil {
		return app.ExitFault, err
	}
	ctx, cancel := f.bound(ctx)
	defer cancel()
	code, err := f.served(ctx, env, local, work)
	return ended(ctx, env, code, err, whatNow)
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
