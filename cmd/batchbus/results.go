package main

import (
	"context"
	"errors"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

type resultsCommand struct {
	Follow bool   `help:"Go on until the job is complete."`
	Format string `default:"event" help:"Shape of the lines: event, openai or flat."`
	Out    string `placeholder:"DIR" help:"Folder for output.jsonl and errors.jsonl. Default: all lines go to stdout."`
	rowFlag
	followFlags
}

// run prints the results of a job, and behind them its dead letters: what there is by now, or with --follow until the end.
func (r *resultsCommand) run(ctx context.Context, env app.Env) (int, error) {
	shape, err := formatOf(r.Format)
	if err := errors.Join(flagError("--format", err), r.waitFlags.check(), r.checkRow(&r.followArg)); err != nil {
		return app.ExitFault, err
	}
	if r.Row != "" {
		return r.ofRow(ctx, env, shape)
	}
	if r.Follow {
		return r.follow(ctx, env, func(ctx context.Context, env app.Env, bus *app.Bus, job *events.JobStatus) (int, error) {
			return r.write(env, shape, bus, job, func(a *answers) error {
				f := &follower{bus: bus, id: a.id, saw: a.saw}
				return f.follow(ctx)
			})
		})
	}
	return r.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		job, err := r.find(ctx, bus)
		if err != nil {
			return app.ExitFault, err
		}
		return r.write(env, shape, bus, &job, func(a *answers) error { return a.read(ctx) })
	})
}

// ofRow prints the results of one row.
func (r *resultsCommand) ofRow(ctx context.Context, env app.Env, shape format) (int, error) {
	if r.Follow || r.Out != "" {
		return app.ExitFault, errors.New("--row excludes --follow and --out: batchbus wait --row waits for a row's result")
	}
	return r.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		return r.results(ctx, bus, &r.followArg, newStream(env.Stdout, shape))
	})
}

// write reads the job's answers into what the flags name.
func (r *resultsCommand) write(env app.Env, shape format, bus *app.Bus, job *events.JobStatus, read func(*answers) error) (int, error) {
	a := &answers{bus: bus, id: idOf(job), to: newStream(env.Stdout, shape)}
	keep, finish := a.to.flush, a.to.flush
	if r.Out != "" {
		if err := checkOut(r.Out, job.Job, nil); err != nil {
			return app.ExitFault, err
		}
		to, err := openFiles(r.Out, shape)
		if err != nil {
			return app.ExitFault, err
		}
		a.to, keep, finish = to, to.keep, to.finish
	}
	if err := read(a); err != nil {
		return app.ExitFault, errors.Join(err, keep())
	}
	if job.ForgottenAt != nil {
		say(env, "the job was forgotten: its results are gone")
	}
	return app.ExitOK, finish()
}
