package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// jobID is which job a command is about.
type jobID struct{ queue, job string }

func idOf(s *events.JobStatus) jobID { return jobID{s.Queue, s.Job} }

// view is a job's state as it was read last.
type view struct {
	job     jobs.Job
	batches []events.Batch // in order of their numbers
	budget  jobs.Budget    // of its queue
}

func (v *view) read(ctx context.Context, bus *app.Bus, id jobID) (err error) {
	if v.job, err = bus.Jobs.Job(ctx, id.queue, id.job); err != nil {
		return err
	}
	if v.budget, err = bus.Jobs.Budget(ctx, id.queue); err != nil {
		return err
	}
	v.batches = v.batches[:0]
	for b, err := range bus.Jobs.Batches(ctx, id.queue, id.job) {
		if err != nil {
			return err
		}
		v.batches = append(v.batches, b.Batch)
	}
	slices.SortFunc(v.batches, func(a, b events.Batch) int { return events.CompareNumbers(a.N, b.N) })
	return nil
}

func (v *view) completed() bool { return v.job.State == events.JobCompleted && v.job.Totals != nil }

// answered is how many rows have come to their end, as far as the states say.
func (v *view) answered() int {
	n := v.job.Rejected + v.job.CancelledRows
	for i := range v.batches {
		if b := &v.batches[i]; b.Totals != nil {
			n += b.Totals.Rows
		} else {
			n += b.Counts.Completed + b.Counts.Failed
		}
	}
	return n
}

// rows is how many rows the job has, as far as it is known.
func (v *view) rows() int {
	if v.job.ExpectedRows != nil {
		return max(*v.job.ExpectedRows, v.job.Rows)
	}
	return v.job.Rows
}

// holds are what waits for a person.
func (v *view) holds() (holds []string) {
	if v.job.Hold != nil {
		holds = append(holds, v.job.Hold.Code+": "+v.job.Hold.Message)
	}
	for i := range v.batches {
		if hold := v.batches[i].Hold; hold != nil && !v.batches[i].State.Ended() {
			holds = append(holds, fmt.Sprintf("batch %s: %s: %s", v.batches[i].N, hold.Code, hold.Message))
		}
	}
	if hold, held := v.queueHold(); held {
		holds = append(holds, fmt.Sprintf("queue %s: %s: %s (%s)", v.job.Queue, hold.Code, hold.Message, queueCure(v.job.Queue, hold.Code)))
	}
	return holds
}

// moves reports whether a batch goes on without anybody's help.
func (v *view) moves() bool {
	return slices.ContainsFunc(v.batches, func(b events.Batch) bool {
		return !b.State.Ended() && b.Hold == nil && b.Why != events.WhyQueueHeld
	})
}

// queueHold is the hold of the queue that a batch of the job waits for. One that concerns what runs already is not the job's.
func (v *view) queueHold() (hold events.QueueHold, held bool) {
	for i := range v.batches {
		if b := &v.batches[i]; b.Why == events.WhyQueueHeld && !b.State.Ended() {
			if hold, held = v.budget.Stops(b.Key); held {
				return hold, true
			}
		}
	}
	return hold, false
}
