package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

type watchCommand struct {
	JSON bool `name:"json" help:"Print the events as they are on the bus, one JSON object a line."`
	followFlags
}

// run prints what happens to a job, and what has happened, until its end. Its exit codes are those of run.
func (w *watchCommand) run(ctx context.Context, env app.Env) (int, error) {
	return w.follow(ctx, env, w.watch)
}

// eventDelay is how long after a job's end its last event may come: it is copied from the state's stream.
const eventDelay = 10 * time.Second

func (w *watchCommand) watch(ctx context.Context, env app.Env, bus *app.Bus, job *events.JobStatus) (int, error) {
	next, over := uint64(0), false
	f := &follower{bus: bus, id: idOf(job), saw: func(ctx context.Context, v *view) (bool, error) {
		for e, err := range bus.Client.Events(ctx, job.Queue, job.Job, next) {
			if err != nil {
				return false, err
			}
			next = e.Standing + 1
			over = over || e.Kind == events.JobDone
			if err := w.print(env, &e); err != nil {
				return false, err
			}
		}
		return v.completed() && (over || time.Since(v.job.SinceAt) > eventDelay), nil
	}}
	if err := f.follow(ctx); err != nil {
		return app.ExitFault, err
	}
	sum, err := sumUp(ctx, f, time.Now())
	if err != nil {
		return app.ExitFault, err
	}
	return sum.exitCode(), nil
}

func (w *watchCommand) print(env app.Env, e *client.Event) error {
	line := string(e.Raw)
	if !w.JSON {
		line = printable(lineOf(&e.Event))
	}
	if _, err := fmt.Fprintln(env.Stdout, line); err != nil {
		return fmt.Errorf("print event: %w", err)
	}
	return nil
}

// lineOf is an event for people.
func lineOf(e *events.Event) string {
	words := []string{e.At.Local().Format(time.DateTime), string(e.Kind)}
	if e.Batch != "" {
		words = append(words, "batch "+e.Batch)
	}
	if e.BatchState != nil {
		words = append(words, batchWords(e.BatchState)...)
	}
	if j := e.JobState; j != nil && j.Hold != nil {
		words = append(words, "HELD "+j.Hold.Code+": "+j.Hold.Message)
	}
	if j := e.JobState; j != nil && j.Totals != nil {
		words = append(words, fmt.Sprintf("%d of %d rows succeeded", j.Totals.Succeeded, j.Totals.Rows))
	}
	if e.Note != "" {
		words = append(words, e.Note)
	}
	return strings.Join(words, "  ")
}

// batchWords is what there is to say of a batch beside its number and state.
func batchWords(b *events.Batch) (words []string) {
	words = append(words, fmt.Sprintf("%d rows of %s", b.Rows, b.Model))
	if b.ProviderBatchID != "" {
		words = append(words, b.ProviderBatchID)
	}
	if b.Status != "" {
		words = append(words, fmt.Sprintf("%s: %d completed, %d failed", b.Status, b.Counts.Completed, b.Counts.Failed))
	}
	if b.Hold != nil {
		words = append(words, holdWords(b.Hold))
	}
	if b.Why != "" && (b.Hold == nil || b.Why != b.Hold.Code) {
		words = append(words, b.Why)
	}
	if b.LastError != "" && (b.Hold == nil || !strings.Contains(b.Hold.Message, b.LastError)) {
		words = append(words, b.LastError)
	}
	if b.NextTryAt != nil {
		words = append(words, "next try "+b.NextTryAt.Local().Format(time.TimeOnly))
	}
	return words
}
