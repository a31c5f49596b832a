package main

import (
	"context"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// announce says what is about to happen, and what is left out.
func (q *requeueing) announce() {
	say(q.env, "job %s takes up %d rows that job %s refused", q.target.Job, q.plan.Rows, q.From)
	if other := q.plan.Rows - q.plan.Matched; q.Edit != "" && other > 0 {
		say(q.env, "%d rows of %s have the custom_id of no refused row: they are published as they are", other, q.Edit)
	}
	for i := range q.linked.Jobs {
		j := &q.linked.Jobs[i]
		if n := q.plan.Held[i]; n > 0 {
			say(q.env, "%d rows are in job %s already, and left out", n, j.Name())
		}
		if j.SealedAt == nil && j.Name() != q.target.Job {
			say(q.env, "note: job %s, which takes up rows of job %s too, is still open: batchbus seal %s", j.Name(), q.From, named(q.target.Queue, j.Name()))
		}
	}
}

// publish opens the new job, publishes its rows and seals it, and tells whether it is sealed. What was begun before is taken up again.
func (q *requeueing) publish(ctx context.Context) (sealed bool, err error) {
	begun := q.target.Begun
	if begun != nil && begun.SealedAt != nil {
		say(q.env, "that was done before: nothing is sent")
		return true, nil
	}
	if begun == nil && q.plan.Rows == 0 {
		return false, fmt.Errorf("there is nothing left to take up: what job %s refused is in the jobs above. --again, with --job, publishes it once more", q.From)
	}
	if err := q.open(ctx); err != nil {
		return false, err
	}
	stalled := time.AfterFunc(stallInterval, func() {
		say(q.env, "the bus has taken no rows for %s: it is full or slow; waiting", stallInterval)
	})
	defer stalled.Stop()
	n, err := q.bus.Client.PublishRows(ctx, q.target.Queue, q.target.Job, q.plan.Messages(ctx, q.rows), func(int) { stalled.Reset(stallInterval) })
	if err != nil {
		return false, err
	}
	if n != q.plan.Rows {
		return false, fmt.Errorf("%d rows were there when they were checked and %d when they were published: job %s is not sealed; give the same command again",
			q.plan.Rows, n, q.target.Job)
	}
	if q.NoSeal {
		return false, nil
	}
	return true, q.bus.Client.Seal(ctx, q.target.Queue, q.target.Job, q.expected())
}

// expected is how many rows the new job has in the end; below 0: others publish to it too.
func (q *requeueing) expected() int {
	if q.target.Joined {
		return -1
	}
	n := q.plan.Rows
	for i := range q.linked.Jobs {
		if j := &q.linked.Jobs[i]; j.Queue == q.target.Queue && j.Name() == q.target.Job {
			n += q.plan.Held[i]
		}
	}
	return n
}

func (q *requeueing) open(ctx context.Context) error {
	wanted := events.OpenJob{
		JobRef: events.JobRef{Queue: q.target.Queue, Job: q.target.Job}, Window: q.old.Policy.Window, DefaultModel: q.old.Policy.DefaultModel,
		Description: q.Description, InputSHA256: q.plan.Digest, Fixes: &events.JobRef{Queue: q.Queue, Job: q.From},
	}
	if q.target.Joined {
		wanted.InputSHA256 = ""
	}
	_, err := q.bus.Client.OpenJob(ctx, wanted)
	return explain(err)
}

// requeued is what requeue prints for programs.
type requeued struct {
	Job         string        `json:"job"`
	Queue       string        `json:"queue"`
	Fixes       events.JobRef `json:"fixes"`
	Rows        int           `json:"rows"`     // published now
	LeftOut     int           `json:"left_out"` // in a linked job already
	Sealed      bool          `json:"sealed"`
	DryRun      bool          `json:"dry_run"`
	InputSHA256 string        `json:"input_sha256"`
}

// report prints the new job's name, and says what to do next.
func (q *requeueing) report(sealed bool) error {
	to := &q.target
	switch {
	case q.DryRun:
	case sealed:
		say(q.env, "job %s is submitted: batchbus wait %s", to.Job, named(to.Queue, to.Job))
	default:
		say(q.env, "job %s is open: batchbus seal %s when all its rows are there", to.Job, named(to.Queue, to.Job))
	}
	if q.JSON {
		out := requeued{
			Job: to.Job, Queue: to.Queue, Fixes: events.JobRef{Queue: q.Queue, Job: q.From}, Rows: q.plan.Rows,
			Sealed: sealed, DryRun: q.DryRun, InputSHA256: q.plan.Digest,
		}
		for _, n := range q.plan.Held {
			out.LeftOut += n
		}
		return printJSON(q.env, out)
	}
	if _, err := fmt.Fprintln(q.env.Stdout, to.Job); err != nil {
		return fmt.Errorf("print job: %w", err)
	}
	return nil
}
