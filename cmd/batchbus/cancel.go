package main

import (
	"context"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

type cancelCommand struct {
	jobArg
	JSON bool `name:"json" help:"Print the job, as it was before, as JSON."`

	busFlags
}

// run cancels a job: rows that did not run end as cancelled, and what ran is kept.
func (c *cancelCommand) run(ctx context.Context, env app.Env) (int, error) {
	return c.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		job, err := bus.Client.CancelJob(ctx, c.ref())
		return asked(env, &job, err, "the cancel", job.State == events.JobCompleted, c.JSON)
	})
}
