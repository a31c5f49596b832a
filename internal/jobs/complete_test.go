package jobs_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// ended is a batch that answered so many rows.
func ended(n string, state events.BatchState, succeeded int) *jobs.Batch {
	b := newBatch(n, state, succeeded)
	b.Totals = &events.Totals{Rows: succeeded, Succeeded: succeeded, Usage: events.Usage{TotalTokens: int64(10 * succeeded)}}
	return b
}

func (r *rig) complete() jobs.Job {
	r.t.Helper()
	j, err := r.jobs.Complete(r.t.Context(), queue, job)
	if err != nil {
		r.t.Fatal(err)
	}
	if stored := r.job(); stored.State != j.State || stored.Revision != j.Revision {
		r.t.Errorf("returned %s at %d, stored is %s at %d", j.State, j.Revision, stored.State, stored.Revision)
	}
	return j
}

func TestAJobCompletesWhenItIsPlannedAndEveryBatchHasEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := r.jobs.Complete(t.Context(), queue, job); !errors.Is(err, jetstore.ErrNotFound) {
		t.Errorf("no job: %v", err)
	}
	j := r.open()
	j.Batches, j.FollowUps, j.Rows, j.Rejected, j.CancelledRows = 2, 1, 13, 3, 1
	j.Totals = &events.Totals{Rows: 999}
	first := ended("1", events.BatchSettled, 2)
	r.commit(func(c *jobs.Change) { c.Job(j); c.Batch(first); c.Batch(ended("2", events.BatchCancelled, 3)) })
	if got := r.complete(); got.State != events.JobOpen {
		t.Errorf("an open job became %s", got.State)
	}
	j.State = events.JobPlanned
	r.commit(func(c *jobs.Change) { c.Job(j, events.JobFullyPlanned) })
	if got := r.complete(); got.State != events.JobPlanned {
		t.Errorf("a job whose follow-up is not listed became %s", got.State)
	}
	followUp := newBatch("1-1", events.BatchFinished, 4)
	r.commit(func(c *jobs.Change) { c.Batch(followUp) })
	if got := r.complete(); got.State != events.JobPlanned {
		t.Errorf("a job whose follow-up runs became %s", got.State)
	}
	followUp.State = events.BatchRefused
	r.commit(func(c *jobs.Change) { c.Batch(followUp) })
	if got := r.complete(); got.State != events.JobPlanned {
		t.Errorf("a job with an ended batch without totals became %s", got.State)
	}
	followUp.Totals = ended("", "", 4).Totals
	r.commit(func(c *jobs.Change) { c.Batch(followUp) })
	replaced := r.job().Revision
	done := r.complete()
	want := events.Totals{Rows: 13, Succeeded: 9, Rejected: 3, Cancelled: 1, Usage: events.Usage{TotalTokens: 90}}
	if done.State != events.JobCompleted || done.Totals == nil || *done.Totals != want {
		t.Errorf("%s with totals %+v, want %+v", done.State, done.Totals, want)
	}
	if again := r.complete(); again.Revision != done.Revision {
		t.Error("completing it again changed the job")
	}
	got := r.told(r.mark())
	if told := fmt.Sprintf("job.completed 0-%d", replaced); !slices.Contains(got, told) || len(got) != 4 {
		t.Errorf("events %v, want %s once", got, told)
	}
}

func TestAJobThatAFollowUpJoinsMeanwhileIsNotCompleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := r.open()
	j.State, j.Batches = events.JobPlanned, 1
	r.commit(func(c *jobs.Change) { c.Job(j); c.Batch(ended("1", events.BatchSettled, 1)) })
	bus := &interposed{Store: r.Store, beforeCommit: func() {
		j.FollowUps = 1
		r.commit(func(c *jobs.Change) { c.Job(j); c.Batch(newBatch("1-1", events.BatchPlanned, 1)) })
	}}
	got, err := jobs.New(bus).Complete(t.Context(), queue, job)
	if err != nil || got.State != events.JobPlanned || got.Revision != r.job().Revision || r.job().State != events.JobPlanned {
		t.Errorf("%+v, %v", got, err)
	}
}
