package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

// batchCommand gathers what is about one batch.
type batchCommand struct {
	Adopt   adoptCommand   `cmd:"" help:"End the hold of a batch: the provider's batch is this one, follow it."`
	Abandon abandonCommand `cmd:"" help:"End the hold of a batch: stop what the provider has of it, and plan its rows anew."`
}

// batchArg names a batch on the command line, and perhaps one of the provider's.
type batchArg struct {
	Batch           string `arg:"" name:"batch" placeholder:"JOB/N" help:"The batch, as JOB/N or QUEUE/JOB/N; N as status shows it."`
	ProviderBatchID string `arg:"" optional:"" help:"The provider's id of the batch that is meant. Default: what it has of this batch."`
	Queue           string `default:"default" help:"Queue that the job belongs to."`
}

// wish is what the arguments ask for.
func (a *batchArg) wish() (events.EndHold, error) {
	parts := strings.Split(a.Batch, "/")
	q := events.EndHold{JobRef: events.JobRef{Queue: a.Queue}, ProviderBatchID: a.ProviderBatchID}
	switch len(parts) {
	case 2:
		q.Job, q.N = parts[0], parts[1]
	case 3:
		q.Queue, q.Job, q.N = parts[0], parts[1], parts[2]
	}
	if q.Queue == "" || q.Job == "" || q.N == "" {
		return q, fmt.Errorf("%q names no batch: give JOB/N or QUEUE/JOB/N", a.Batch)
	}
	return q, nil
}

type adoptCommand struct {
	batchArg
	JSON bool `name:"json" help:"Print the batch, with what is wished, as JSON."`

	busFlags
}

// run has a held batch follow one that the provider has.
func (a *adoptCommand) run(ctx context.Context, env app.Env) (int, error) {
	q, err := a.wish()
	if err != nil {
		return app.ExitFault, err
	}
	return a.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		b, err := bus.Client.AdoptBatch(ctx, q)
		what := cmp.Or(a.ProviderBatchID, "what the provider has of it")
		return wished(env, &b, err, "the submitter is going to check "+what+" and to follow it", a.JSON)
	})
}

type abandonCommand struct {
	batchArg
	JSON bool `name:"json" help:"Print the batch, with what is wished, as JSON."`

	busFlags
}

// run gives up what the provider has of a held batch, and has the rows planned anew.
func (a *abandonCommand) run(ctx context.Context, env app.Env) (int, error) {
	q, err := a.wish()
	if err != nil {
		return app.ExitFault, err
	}
	return a.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		b, err := bus.Client.AbandonBatch(ctx, q)
		return wished(env, &b, err, "the submitter is going to stop what the provider has of it, and then to plan its rows anew", a.JSON)
	})
}

// wished tells what becomes of a wish.
func wished(env app.Env, b *events.Batch, err error, what string, asJSON bool) (int, error) {
	if err != nil {
		return app.ExitFault, explain(err)
	}
	say(env, "batch %s of job %s: %s; watch the job for what comes of it", b.N, b.Job, what)
	if asJSON {
		return app.ExitOK, printJSON(env, b)
	}
	return app.ExitOK, nil
}
