package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

// errStale is returned when another planner has changed the job's state: the walk in memory does not fit it any more.
var errStale = errors.New("another planner went on with the job")

// sealing is what the seal block says.
type sealing struct {
	at       time.Time // when ROWS stored it
	expected *int
	sequence uint64 // of its message in BATCHBUS_REQUESTS, 0 when it does not say
}

// cut stores, in this order: every result and dead letter so far; the manifests of what is ready; and, all at once, the batches and how
// far the job is walked, which with a sealing is fully planned. With nothing ready only the last remains.
func (s *session) cut(ctx context.Context, seal *sealing) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	for {
		began := time.Now()
		batches, err := s.batches(ctx)
		if err != nil {
			return err
		}
		done, err := s.commit(ctx, batches, seal, began)
		if err != nil {
			return err
		}
		if done {
			s.walk.ready = nil
			return nil
		}
	}
}

// batches stores the manifests of what is ready and returns the batches, numbered behind those that the job has.
func (s *session) batches(ctx context.Context) ([]*jobs.Batch, error) {
	batches := make([]*jobs.Batch, len(s.walk.ready))
	for i := range s.walk.ready {
		ready := &s.walk.ready[i]
		b := &jobs.Batch{Batch: events.Batch{
			Queue: s.job.Queue, Job: s.job.Name(), N: strconv.Itoa(s.job.Batches + i + 1), State: events.BatchPlanned,
			GroupKey: ready.group, Key: s.job.Policy.Key, OpaqueIDs: s.job.Policy.OpaqueIDs,
			Rows: len(ready.entries), Bytes: ready.bytes, Digest: ready.digest,
		}}
		var err error
		if b.Manifest, err = manifest.Store(ctx, s.rows, b.StateKey(), ready.entries); err != nil {
			return nil, err
		}
		batches[i] = b
	}
	return batches, nil
}

// commit publishes the batches and the job, and tells whether that is done. A job that others changed in what is not the planner's, such as its count of follow-ups, is
// read and tried again; not done after [desk.manifestAge], since a manifest that nobody names is swept after a day.
func (s *session) commit(ctx context.Context, batches []*jobs.Batch, seal *sealing, began time.Time) (bool, error) {
	limited, cancel := context.WithDeadline(ctx, began.Add(s.manifestAge))
	defer cancel()
	for {
		next := s.job
		err := s.jobs.Commit(limited, s.change(&next, batches, seal))
		switch {
		case err == nil:
			s.job = next
			return true, nil
		case limited.Err() != nil && ctx.Err() == nil:
			return false, s.reread(ctx) // given up: the manifests are stored anew
		case !jobs.IsConflict(err):
			return false, fmt.Errorf("store plan: %w", err)
		}
		if err := s.reread(ctx); err != nil {
			return false, err
		}
		if s.job.Revision == next.Revision {
			return false, fmt.Errorf("store plan: the batch stands already: %w", err)
		}
	}
}

// reread takes the job's state as it stands now, unless another planner has gone on with it.
func (s *session) reread(ctx context.Context) error {
	fresh, err := s.jobs.Job(ctx, s.job.Queue, s.job.Name())
	if err != nil {
		return err
	}
	if !samePlan(&s.job.Job, &fresh.Job) {
		return errStale
	}
	s.job = fresh
	return nil
}

func (s *session) change(next *jobs.Job, batches []*jobs.Batch, seal *sealing) *jobs.Change {
	change := jobs.NewChange(time.Now())
	for _, b := range batches {
		b.SinceAt = change.At()
		change.Batch(b, events.BatchIsPlanned)
	}
	s.walk.describe(&next.Job)
	next.Batches += len(batches)
	if seal == nil {
		change.Job(next)
		return change
	}
	next.State, next.SinceAt = events.JobPlanned, change.At()
	next.SealedAt, next.SealSequence, next.ExpectedRows = &seal.at, seal.sequence, seal.expected
	change.Job(next)
	change.JobEvent(next, events.JobFullyPlanned, disagreement(next))
	return change
}

// disagreement says that the publisher counted otherwise; empty when he did not.
func disagreement(j *jobs.Job) string {
	if j.ExpectedRows == nil || *j.ExpectedRows == j.Rows {
		return ""
	}
	return fmt.Sprintf("expected %d rows, found %d", *j.ExpectedRows, j.Rows)
}

// samePlan tells whether two readings of a job agree in all that planning rests on. Walked and Batches only grow, so nobody planned
// between them and went back.
func samePlan(a, b *events.Job) bool {
	return a.State == b.State && a.Walked.Sequence == b.Walked.Sequence && a.Walked.At.Equal(b.Walked.At) &&
		a.Batches == b.Batches && a.Rows == b.Rows && a.LostRows == b.LostRows && slices.Equal(a.Groups, b.Groups) &&
		(a.CancelWanted == nil) == (b.CancelWanted == nil) && (a.Hold == nil) == (b.Hold == nil)
}
