package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
)

type retryCommand struct {
	Job   string `arg:"" help:"Name of the completed job, or the provider's id of one of its batches."`
	Queue string `default:"default" help:"Queue that the job belongs to."`

	Only []string `placeholder:"CODE" help:"Only rows whose error has one of these codes, comma separated, whether it may pass or not. Default: rows that failed for a passing reason, expired, or were cancelled while the job was not."`
	All  bool     `help:"Every row that failed, expired or was cancelled."`
	To   string   `placeholder:"NEW" help:"Name of the new job. Default: the old one's with -retry1, or the first number that is free."`
	Set  []string `sep:"none" placeholder:"FIELD=VALUE" help:"Field of the policy that is to differ from the old job's, such as window=1h, key=night or model=other. May be repeated."`
	JSON bool     `name:"json" help:"Print what is retried as JSON."`

	busFlags
}

// run sends rows of a completed job once more, in a job of their own. The old job's results stay. Given again it does nothing.
func (r *retryCommand) run(ctx context.Context, env app.Env) (int, error) {
	q, err := r.request()
	if err != nil {
		return app.ExitFault, err
	}
	return r.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		done, err := bus.Client.RetryJob(ctx, q)
		if err != nil {
			return app.ExitFault, explain(err)
		}
		say(env, "job %s sends %d rows of job %s once more: batchbus wait %s", done.Job, done.Rows, done.Retries.Job, named(done.Queue, done.Job))
		if done.LeftOut > 0 {
			say(env, "%d rows are in other jobs that retry it already, and left out", done.LeftOut)
		}
		if r.JSON {
			return app.ExitOK, printJSON(env, done)
		}
		if _, err := fmt.Fprintln(env.Stdout, printable(done.Job)); err != nil {
			return app.ExitFault, fmt.Errorf("print job: %w", err)
		}
		return app.ExitOK, nil
	})
}

// request is what the flags ask for, or all that is wrong with them.
func (r *retryCommand) request() (q events.RetryJob, err error) {
	q = events.RetryJob{JobRef: events.JobRef{Queue: r.Queue, Job: r.Job}, To: r.To, Only: r.Only, All: r.All}
	faults := []error{flagError("--queue", events.CheckName(r.Queue))}
	if r.All && len(r.Only) > 0 {
		faults = append(faults, errors.New("--all and --only exclude each other"))
	}
	if r.To != "" {
		faults = append(faults, flagError("--to", events.CheckName(r.To)))
	}
	fields := make(map[string]any)
	for _, set := range r.Set {
		name, value, ok := strings.Cut(set, "=")
		if !ok {
			faults = append(faults, fmt.Errorf("--set: %.80q is not FIELD=VALUE", set))
			continue
		}
		faults = append(faults, flagError("--set", queues.Set(fields, name, value)))
	}
	if len(fields) > 0 {
		q.Policy, err = json.Marshal(fields)
	}
	return q, errors.Join(append(faults, err)...)
}
