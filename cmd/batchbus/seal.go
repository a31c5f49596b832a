package main

import (
	"context"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

type sealCommand struct {
	jobArg
	ExpectedRows *int `placeholder:"N" help:"How many rows were published, so that batchbus can say when it counts otherwise."`
	JSON         bool `name:"json" help:"Print the job, as it was before, as JSON."`

	busFlags
}

// run seals a job behind the rows that were published so far.
func (s *sealCommand) run(ctx context.Context, env app.Env) (int, error) {
	return s.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		job, err := bus.Client.SealJob(ctx, events.SealJob{JobRef: s.ref(), ExpectedRows: s.ExpectedRows})
		return asked(env, &job, err, "the seal", job.SealedAt != nil, s.JSON)
	})
}

// asked tells what became of something that was asked for by a message.
func asked(env app.Env, job *events.JobStatus, err error, what string, already, asJSON bool) (int, error) {
	if err != nil {
		return app.ExitFault, explain(err)
	}
	if already {
		say(env, "job %s is %s: %s makes no difference any more", job.Job, job.State, what)
	} else {
		say(env, "job %s: %s is on its way, behind the rows that were published before", job.Job, what)
	}
	if asJSON {
		return app.ExitOK, printJSON(env, job)
	}
	return app.ExitOK, nil
}
