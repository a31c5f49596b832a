package collector

import (
	"context"
	"fmt"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// close ends the rows that stayed absent, each with a result that says so, and settles the batch. The rows of a batch that was adopted while
// its file was being deleted may never have had a chance: they go to a follow-up instead, unless the job is cancelled.
func (r *run) close(ctx context.Context, remote *doubleword.Batch) error {
	job, err := r.s.cfg.Jobs.Job(ctx, r.b.Queue, r.b.Job)
	if err != nil {
		return err
	}
	absent, places := r.absent()
	if r.b.Fenced && job.CancelWanted == nil {
		return r.settle(ctx, []jobs.FollowUp{{Rows: absent}})
	}
	outcome, reason := absence(remote)
	for row, err := range manifest.Rows(ctx, r.s.cfg.Bus, r.b.Queue, r.b.Job, absent) {
		if err != nil {
			return fmt.Errorf("read absent rows: %w", err)
		}
		place := places[row.Place]
		result := events.Result{
			CustomID: row.CustomID, Queue: r.b.Queue, Job: r.b.Job, Outcome: outcome, Error: reason, Batch: r.b.N,
			ProviderBatchID: r.b.ProviderBatchID, Attempt: r.entries[place].Attempt, CompletedAt: r.facts().now,
		}
		if err := r.publish(ctx, place, &result); err != nil {
			return err
		}
		if len(r.found) >= r.s.cfg.CommitRows {
			if err := r.commit(ctx); err != nil {
				return err
			}
		}
	}
	if err := r.commit(ctx); err != nil {
		return err
	}
	return r.settle(ctx, nil)
}

// absent lists the places without a result, in order.
func (r *run) absent() (entries []manifest.Entry, places []int) {
	for place, entry := range r.entries {
		if !r.cursor.Settled.Has(place) {
			entries, places = append(entries, entry), append(places, place)
		}
	}
	return entries, places
}

// settle makes the settle publish. Every place has its bit or stands in a follow-up.
func (r *run) settle(ctx context.Context, followUps []jobs.FollowUp) error {
	rest := r.missing()
	for _, f := range followUps {
		rest -= len(f.Rows)
	}
	if rest != 0 {
		return fmt.Errorf("settle %s: %d rows have neither a result nor a follow-up", r.b.StateKey(), rest)
	}
	err := r.s.cfg.Jobs.Settle(ctx, r.s.cfg.Bus, jobs.Settlement{
		Batch: r.b, Cursor: &r.cursor, State: events.BatchSettled, FollowUps: followUps,
	})
	if err != nil {
		return err
	}
	r.log.Info().Int("rows", len(r.entries)).Int("follow_ups", len(followUps)).Msg("batch is settled")
	_, err = r.s.cfg.Jobs.Complete(ctx, r.b.Queue, r.b.Job)
	return err
}
