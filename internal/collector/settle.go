package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// close ends the rows that stayed absent, each with a result that says so or with another try, and settles the batch. The rows of a batch that was
// adopted while its file was being deleted may never have had a chance: they go to a follow-up whatever the policy says, unless the job is
// cancelled.
func (r *run) close(ctx context.Context, remote *doubleword.Batch) (time.Duration, error) {
	absent, places := r.absent(remote)
	outcome, reason := absence(remote)
	for row, err := range manifest.Rows(ctx, r.s.cfg.Bus, r.b.Queue, r.b.Job, absent) {
		if err != nil {
			return 0, fmt.Errorf("read absent rows: %w", err)
		}
		place := places[row.Place]
		result := events.Result{
			CustomID: row.CustomID, Queue: r.b.Queue, Job: r.b.Job, Outcome: outcome, Error: reason, Batch: r.b.N,
			ProviderBatchID: r.b.ProviderBatchID, Attempt: r.entries[place].Attempt, CompletedAt: r.facts().now,
		}
		if err := r.publish(ctx, place, &result); err != nil {
			return 0, err
		}
		if len(r.found) >= r.s.cfg.CommitRows {
			if err := r.commit(ctx); err != nil {
				return 0, err
			}
		}
	}
	if err := r.commit(ctx); err != nil {
		return 0, err
	}
	return r.settle(ctx)
}

// absent lists the places that get a result for being absent, in order, and notes those that get another try.
func (r *run) absent(remote *doubleword.Batch) (entries []manifest.Entry, places []int) {
	outcome, reason := absence(remote)
	fenced := r.b.Fenced && r.job.CancelWanted == nil
	for place, entry := range r.entries {
		if _, known := r.again[place]; known || r.cursor.Settled.Has(place) {
			continue
		}
		if fenced || r.retryPolicy().Wants(outcome, reason, entry.Attempt) {
			r.again[place] = retry{idle: fenced}
			continue
		}
		entries, places = append(entries, entry), append(places, place)
	}
	return entries, places
}

// settle makes the settle publish once every place has its bit or another try before it. It returns how long to wait for what is still to be
// asked; 0 when the batch is settled.
func (r *run) settle(ctx context.Context) (time.Duration, error) {
	if len(r.again) > 0 {
		if reopened, err := r.confirm(ctx); err != nil || reopened {
			return 0, err
		}
	}
	if left := r.left(); left != 0 {
		return 0, fmt.Errorf("settle %s: %d rows have neither a result nor a follow-up", r.b.StateKey(), left)
	}
	wait, billed, err := r.bill(ctx)
	if err != nil || wait > 0 {
		return wait, err
	}
	followUps := r.followUps()
	err = r.s.cfg.Jobs.Settle(ctx, r.s.cfg.Bus, jobs.Settlement{
		Batch: r.b, Cursor: &r.cursor, State: events.BatchSettled, FollowUps: followUps, Billed: billed.amount, Why: billed.unusable,
	})
	if err != nil {
		return 0, err
	}
	if billed.unusable != "" {
		r.log.Warn().Str("why", billed.unusable).Msg("batch is settled without a bill")
	}
	r.log.Info().Int("rows", len(r.entries)).Int("again", len(r.again)).Int("follow_ups", len(followUps)).Msg("batch is settled")
	_, err = r.s.cfg.Jobs.Complete(ctx, r.b.Queue, r.b.Job)
	return 0, err
}

// resultsGone reports whether answers that the provider counts were deleted there: its files are gone for good, or hold nothing any more. Then
// nobody may pay for the rows again unasked. One row that is counted and stands nowhere is a missing row like any other. In a job that is to be
// cancelled nobody waits.
func (r *run) resultsGone(remote *doubleword.Batch, t trouble) bool {
	if r.job.CancelWanted != nil || r.accounted(remote) {
		return false
	}
	counted := remote.Counts.Completed + remote.Counts.Failed
	return t.gone != nil || r.heard == 0 && counted > 1
}

// accounted reports whether the provider's counts name no row that is not found. Counts that cannot be true say nothing of that.
func (r *run) accounted(remote *doubleword.Batch) bool {
	return !remote.CountsImpossible && accounted(remote.Counts, r.cursor.Totals, len(r.again))
}

// errEmptied is returned when files hold nothing whose rows the provider counts.
var errEmptied = errors.New("its files are empty")

// goneError says what is lost and what a person can do.
func goneError(remote *doubleword.Batch, cause error) error {
	return fmt.Errorf("results_gone: the provider counts %d completed and %d failed rows and hands out no more of them; resume when they are back,"+
		" or abandon the batch to pay for its rows again: %w", remote.Counts.Completed, remote.Counts.Failed, cmp.Or(cause, errEmptied))
}
