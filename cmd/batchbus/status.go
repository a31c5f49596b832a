package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

type statusCommand struct {
	jobArg
	JSON bool `name:"json" help:"Print the job and its batches as JSON, as the control API answers."`

	busFlags
}

// run shows a job and its batches.
func (s *statusCommand) run(ctx context.Context, env app.Env) (int, error) {
	return s.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		job, err := s.find(ctx, bus)
		if err != nil {
			return app.ExitFault, err
		}
		if s.JSON {
			return app.ExitOK, printJSON(env, job)
		}
		return app.ExitOK, describeJob(env.Stdout, &job)
	})
}

// describeJob prints a job for people: a line for it, and one for each batch.
func describeJob(w io.Writer, j *events.JobStatus) error {
	lines := []string{fmt.Sprintf("job %s, queue %s: %s since %s", j.Job, j.Queue, j.State, j.SinceAt.Local().Format(time.DateTime))}
	lines = append(lines, jobWords(j)...)
	for i := range j.Batches {
		b := &j.Batches[i]
		lines = append(lines, fmt.Sprintf("batch %s: %s  %s", b.N, b.State, strings.Join(batchWords(b), "  ")))
	}
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	if _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); err != nil {
		return fmt.Errorf("print job: %w", err)
	}
	return nil
}

// holdWords says what is held, for how long, and why.
func holdWords(h *events.Hold) string {
	if h.At.IsZero() {
		return "HELD " + h.Code + ": " + h.Message
	}
	return "HELD " + h.Code + " for " + max(0, time.Since(h.At)).Round(time.Second).String() + ": " + h.Message
}

func jobWords(j *events.JobStatus) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if j.Description != "" {
		add("%s", j.Description)
	}
	if j.Fixes != nil {
		add("takes up rows that job %s, queue %s, refused", j.Fixes.Job, j.Fixes.Queue)
	}
	if j.Retries != nil {
		add("sends rows of job %s, queue %s, once more", j.Retries.Job, j.Retries.Queue)
	}
	if t := j.Totals; t != nil {
		add("rows %d: succeeded %d, failed %d, expired %d, cancelled %d, rejected %d", j.Rows, t.Succeeded, t.Failed, t.Expired, t.Cancelled, t.Rejected)
		if words := costWords(t.Cost, t.Currency, t.Billed); words != "" {
			simulated := t.Basis == simulatedBasis
			if simulated {
				words += reality(&simulated)
			}
			add("%s", words)
		}
	}
	if j.Spending != nil {
		add("under limits: %s spent, %s reserved", amountText(j.Spending.Spent), amountText(j.Spending.Reserved))
	}
	if j.Allowed != nil {
		add("a person allows it %s in all", allowanceText(j.Allowed))
	}
	if j.InputSHA256 != "" {
		add("input sha256 %s", j.InputSHA256)
	}
	for _, at := range []struct {
		what string
		at   *time.Time
	}{{"sealed", j.SealedAt}, {"cancel wanted", j.CancelWantedAt}, {"forgotten", j.ForgottenAt}} {
		if at.at != nil {
			add("%s %s", at.what, at.at.Local().Format(time.DateTime))
		}
	}
	if j.Hold != nil {
		add("%s", holdWords(j.Hold))
	}
	for i := range j.QueueHolds {
		h := &j.QueueHolds[i]
		add("queue %s %s (%s)", j.Queue, holdWords(&h.Hold), queueCure(j.Queue, h.Code))
	}
	return lines
}
