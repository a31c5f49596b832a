package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

// jobsCommand gathers what is about a job before there are rows of it.
type jobsCommand struct {
	Open jobsOpenCommand `cmd:"" help:"Open a job with options of its own, before rows are published to it."`
}

type jobsOpenCommand struct {
	Job         string `arg:"" help:"Name of the job."`
	Queue       string `default:"default" help:"Queue that the job belongs to."`
	Window      string `help:"Completion window, one of the queue's. Default: the queue's own."`
	Model       string `help:"Model for rows that name none. Default: the queue's."`
	Description string `help:"Free text kept with the job."`
	optionFlags
	JSON bool `name:"json" help:"Print the job as JSON."`

	busFlags
}

// run opens a job, or finds it open with the same options.
func (o *jobsOpenCommand) run(ctx context.Context, env app.Env) (int, error) {
	options, err := o.fields()
	if err := errors.Join(err, flagError("<job>", events.CheckName(o.Job)), flagError("--queue", events.CheckName(o.Queue))); err != nil {
		return app.ExitFault, err
	}
	return o.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		job, err := bus.Client.OpenJob(ctx, events.OpenJob{
			JobRef: events.JobRef{Queue: o.Queue, Job: o.Job}, Window: o.Window, DefaultModel: o.Model, Description: o.Description, Policy: options,
		})
		if err != nil {
			return app.ExitFault, lined(explain(err))
		}
		say(env, "job %s is %s: publish rows to %s, then batchbus seal %s", job.Job, job.State, events.RequestSubject(job.Queue, job.Job), named(job.Queue, job.Job))
		if o.JSON {
			return app.ExitOK, printJSON(env, job)
		}
		if _, err := fmt.Fprintln(env.Stdout, printable(job.Job)); err != nil {
			return app.ExitFault, fmt.Errorf("print job: %w", err)
		}
		return app.ExitOK, nil
	})
}
