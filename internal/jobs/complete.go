package jobs

import (
	"context"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// Complete completes the job if it is fully planned and all its batches have ended: its totals are recomputed from them, and the change
// is against the job's revision read before the batches, so no batch can have been added meanwhile. It returns the job as it stands now,
// completed or not; losing a race is no error. It is idempotent.
func (s *Store) Complete(ctx context.Context, queue, job string) (Job, error) {
	j, err := s.Job(ctx, queue, job)
	if err != nil || j.State != events.JobPlanned {
		return j, err
	}
	batches := make(map[string]events.Batch) // a batch that changes meanwhile is listed twice, the second time as it is now
	for b, err := range s.Batches(ctx, queue, job) {
		if err != nil {
			return j, err
		}
		batches[b.N] = b.Batch
	}
	totals, ended := sum(&j.Job, batches)
	if !ended {
		return j, nil
	}
	change := NewChange(time.Now())
	j.State, j.SinceAt, j.Totals = events.JobCompleted, change.At(), &totals
	change.Job(&j, events.JobDone)
	err = s.Commit(ctx, change)
	if IsConflict(err) {
		return s.Job(ctx, queue, job)
	}
	return j, err
}

// sum adds up a job's batches, and tells whether all of them are there and have ended. A list from a lagging replica that lacks one, or
// shows one as it was before, is thus not taken for the whole.
func sum(j *events.Job, batches map[string]events.Batch) (totals events.Totals, ended bool) {
	totals = outside(j)
	for _, b := range batches {
		if !b.State.Ended() || b.Totals == nil {
			return totals, false
		}
		totals.Add(*b.Totals)
		if b.Billed != nil {
			totals.Add(events.Totals{Billed: *b.Billed})
		}
	}
	return totals, len(batches) == j.Batches+j.FollowUps
}

// outside counts the rows that ended without a batch.
func outside(j *events.Job) events.Totals {
	return events.Totals{Rows: j.Rejected + j.CancelledRows, Rejected: j.Rejected, Cancelled: j.CancelledRows}
}
