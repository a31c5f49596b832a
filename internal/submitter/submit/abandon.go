package submit

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// maxAbandoned bounds how many remote batches a state names as abandoned.
const maxAbandoned = 100

// whyAbandoned is why a batch ended that a person gave up.
const whyAbandoned = "abandoned"

// lookNamed is look, and reads the batches beside it that the wish and the state name.
func (d *drive) lookNamed(ctx context.Context) (step, error) {
	var found []doubleword.Batch
	if d.provider.Capabilities().ListByMetadata {
		if next, err := d.look(ctx); err != nil || !d.listed {
			return next, err
		}
		found = d.listing
	}
	for _, id := range []string{d.batch.Wish.ProviderBatchID, d.batch.ProviderBatchID} {
		if id == "" || slices.ContainsFunc(found, func(b doubleword.Batch) bool { return b.ID == id }) {
			continue
		}
		remote, err := d.provider.Batch(ctx, id)
		switch {
		case isAbsent(err), d.batch.Wish.Kind == events.WishAdopt && refusedForGood(err): // such as what is no id at all
		case err != nil:
			return d.failed(ctx, "read_failed", err)
		default:
			found = append(found, remote)
		}
	}
	d.listed, d.listing = true, found
	return step{}, nil
}

// isAbsent reports whether the provider says that it has no such batch.
func isAbsent(err error) bool {
	e, ok := errors.AsType[*doubleword.Error](err)
	return ok && e.Status == http.StatusNotFound
}

// stopRemotes asks the provider to stop remote batches. Whether they have stopped is for the next look.
func (d *drive) stopRemotes(ctx context.Context, remotes []doubleword.Batch) (step, error) {
	for _, remote := range remotes {
		d.log.Warn().Str("provider_batch", remote.ID).Str("wish", string(d.batch.Wish.Kind)).Msg("a batch is stopped by a person's wish")
		if err := d.stopRemote(ctx, remote.ID); err != nil {
			return d.failed(ctx, "cancel_failed", err)
		}
	}
	d.listed, d.listing = false, nil
	return step{delay: firstRetryWait, why: d.batch.Why}, nil
}

// refusedWish stands in a hold's message between its reason and what was wrong with the last wish to end it.
const refusedWish = " | not done: "

// refuseWish takes the wish back and says in the hold what was wrong with it.
func (d *drive) refuseWish(ctx context.Context, code, message string) error {
	d.log.Error().Str("wish", string(d.batch.Wish.Kind)).Str("reason", message).Msg("wish refused")
	return d.note(ctx, func(b *events.Batch, at time.Time) {
		b.Wish = nil
		if held := b.Hold; held != nil && held.Code == code { // what the hold is about must stay readable
			reason, _, _ := strings.Cut(held.Message, refusedWish)
			message = reason + refusedWish + message
		}
		b.LastError = ""
		setHold(b, code, message, at)
	}, events.BatchHeld)
}

// dropWish takes back a wish and its hold that have come to nothing by now.
func (d *drive) dropWish(ctx context.Context) error {
	return d.note(ctx, func(b *events.Batch, _ time.Time) { b.Wish, b.Hold, b.Why = nil, nil, "" }, events.BatchResumed)
}

// resend goes back to planned with a new attempt: whatever was sent before made no batch, by a person's word. The file is uploaded anew, so
// that nothing which still names the old one is taken for this attempt.
func (d *drive) resend(ctx context.Context) error {
	d.log.Warn().Int("attempt", d.batch.Attempt).Msg("create is sent again: a person says that the provider has no batch of it")
	return d.enter(ctx, events.BatchPlanned, func(b *events.Batch, _ time.Time) {
		b.Attempt, b.FileID, b.Owner, b.Wish = b.Attempt+1, "", "", nil
	}, events.BatchResumed)
}

// leave gives a submitted batch that has stopped back to poller and collector: they bring home what it answered, and the rows that it did not
// answer go to a follow-up.
func (d *drive) leave(ctx context.Context) (step, error) {
	if !slices.ContainsFunc(d.listing, func(b doubleword.Batch) bool { return b.ID == d.batch.ProviderBatchID }) {
		return d.endAbandoned(ctx)
	}
	return step{}, d.note(ctx, func(b *events.Batch, at time.Time) {
		b.Fenced, b.Wish, b.Hold, b.UnknownSince = true, nil, nil, nil
		b.Why, b.NextTryAt, b.LastError, b.NextPollAt = "", nil, "", &at
	}, events.BatchResumed)
}

// endAbandoned ends a batch of which nothing is alive at the provider: rows without a result go to one follow-up, which has a path of its own.
// In a cancelled job they end as cancelled.
func (d *drive) endAbandoned(ctx context.Context) (step, error) {
	entries, err := manifest.Load(ctx, d.config.Bus, d.batch.Manifest)
	if err != nil {
		return d.unreadable(ctx, err)
	}
	sent := !waits(&d.batch.Batch)
	d.batch.Abandoned = d.abandoned()
	if d.job.CancelWanted != nil {
		return d.end(ctx, cancelledEnding(entries, events.BatchSettled, whyAbandoned, sent))
	}
	cursor, err := d.config.Jobs.Cursor(ctx, &d.batch)
	if err != nil {
		return step{}, err
	}
	ended := jobs.Settlement{Batch: &d.batch, Cursor: &cursor, State: events.BatchSettled, Why: whyAbandoned}
	if rest := unsettled(entries, &cursor, sent); len(rest) > 0 {
		ended.FollowUps = []jobs.FollowUp{{Rows: rest, LineRefusals: d.batch.LineRefusals}}
	}
	return d.settle(ctx, ended)
}

// unsettled are the entries without a result. A row that was sent counts as tried; one that never ran keeps its attempt.
func unsettled(entries []manifest.Entry, cursor *jobs.Cursor, sent bool) (rest []manifest.Entry) {
	for place, entry := range entries {
		if cursor.Settled.Has(place) {
			continue
		}
		if sent {
			entry.Attempt++
		}
		rest = append(rest, entry)
	}
	return rest
}

// abandoned are the remote batches that are given up with this batch.
func (d *drive) abandoned() []string {
	ids := slices.Clone(d.batch.Abandoned)
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) && len(ids) < maxAbandoned {
			ids = append(ids, id)
		}
	}
	add(d.batch.ProviderBatchID)
	for _, remote := range d.listing {
		add(remote.ID)
	}
	return ids
}
