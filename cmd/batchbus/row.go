package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// rowFlag narrows a command to one row.
type rowFlag struct {
	Row string `placeholder:"ID" help:"Only the row with this custom_id. Without a job: in whichever jobs of the queue hold it, rolling ones included."`
}

// checkRow wants a job or a row, and nothing that belongs to a job alone beside a row.
func (f *rowFlag) checkRow(arg *followArg) error {
	if arg.Job == "" && f.Row == "" {
		return errors.New("name the job, or a --row")
	}
	if f.Row == "" {
		return nil
	}
	faults := []error{flagError("--queue", events.CheckName(arg.Queue))}
	if arg.Job != "" {
		faults = append(faults, flagError("<job>", events.CheckName(arg.Job)))
	}
	return errors.Join(faults...)
}

// results prints the results that stand of the row. None is a fault: whoever asked has nothing.
func (f *rowFlag) results(ctx context.Context, bus *app.Bus, arg *followArg, to sink) (int, error) {
	found := false
	for r, err := range bus.Client.RowResults(ctx, arg.Queue, arg.Job, f.Row) {
		if err == nil {
			err = to.result(&r)
		}
		if err != nil {
			return app.ExitFault, err
		}
		found = true
	}
	if !found {
		return app.ExitFault, fmt.Errorf("queue %s has no result of row %.100q: batchbus wait --row waits for one", arg.Queue, f.Row)
	}
	return app.ExitOK, to.flush()
}

// await waits for the row's result and prints it. A row that did not succeed has an exit code of its own.
func (f *rowFlag) await(ctx context.Context, bus *app.Bus, arg *followArg, since time.Time, to sink) (int, error) {
	var r client.Result
	var err error
	if arg.Job == "" {
		r, err = bus.Client.AwaitRow(ctx, arg.Queue, f.Row, since)
	} else {
		r, err = bus.Client.Await(ctx, arg.Queue, arg.Job, f.Row)
	}
	if err == nil {
		err = errors.Join(to.result(&r), to.flush())
	}
	switch {
	case err != nil:
		return app.ExitFault, err
	case r.Outcome == events.Succeeded:
		return app.ExitOK, nil
	default:
		return app.ExitRows, nil
	}
}
