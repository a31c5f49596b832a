package main

import (
	"context"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// sink takes the answers of a job, one call a row.
type sink interface {
	result(r *client.Result) error
	deadLetter(d *client.DeadLetter) error
	// flush makes what was written visible to others.
	flush() error
}

// answers reads a job's results and dead letters as they come, and counts them.
type answers struct {
	bus *app.Bus
	id  jobID
	to  sink

	nextResult  uint64
	nextLetter  uint64
	totals      events.Totals
	deadLetters int
}

// read passes on what is new.
func (a *answers) read(ctx context.Context) error {
	if err := a.readResults(ctx); err != nil {
		return err
	}
	if err := a.readDeadLetters(ctx); err != nil {
		return err
	}
	return a.to.flush()
}

func (a *answers) readResults(ctx context.Context) error {
	for r, err := range a.bus.Client.Results(ctx, a.id.queue, a.id.job, a.nextResult) {
		if err != nil {
			return err
		}
		a.nextResult = r.Sequence + 1
		a.totals.CountResult(&r.Result)
		if err := a.to.result(&r); err != nil {
			return err
		}
	}
	return nil
}

func (a *answers) readDeadLetters(ctx context.Context) error {
	for d, err := range a.bus.Client.DeadLetters(ctx, a.id.queue, a.id.job, a.nextLetter) {
		if err != nil {
			return err
		}
		a.nextLetter = d.Standing + 1
		a.deadLetters++
		if err := a.to.deadLetter(&d); err != nil {
			return err
		}
	}
	return nil
}

// saw is for a [follower]: it is done when the job is complete and all its answers were read, or are there no more.
func (a *answers) saw(ctx context.Context, v *view) (done bool, err error) {
	if err := a.read(ctx); err != nil {
		return false, err
	}
	return v.completed() && (a.totals.Rows >= v.job.Totals.Rows || v.job.ForgottenAt != nil), nil
}

// counting is a sink for those who want the numbers only.
type counting struct{}

func (counting) result(*client.Result) error         { return nil }
func (counting) deadLetter(*client.DeadLetter) error { return nil }
func (counting) flush() error                        { return nil }
