package collector

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// retry is how a row goes to a follow-up.
type retry struct {
	idle bool   // its batch was stopped by us: this try was none, and the attempt stays
	hold string // why the follow-up must not be sent until a person says so; empty when it may
}

// holdOf is why rows with such a failure must wait for a person: sent at once, they would all fail again. It is pure.
func holdOf(result *events.Result) string {
	switch {
	case result.Error == nil:
		return ""
	case result.Error.Code == events.CodeOutOfCredit && result.Error.StatusCode == http.StatusPaymentRequired:
		return events.HoldCredit
	case result.Error.Code == events.CodeAccessLost && result.Error.StatusCode == http.StatusForbidden:
		return events.HoldRefused
	default:
		return ""
	}
}

// retryPolicy is what the job has tried again: nothing, once it is to be cancelled.
func (r *run) retryPolicy() events.Retry {
	if r.job.CancelWanted != nil {
		return events.Retry{}
	}
	return r.job.Policy.Retry
}

// followUps are the batches that the rows go to which get another try: those that may be sent, and those that must wait for a person.
func (r *run) followUps() (all []jobs.FollowUp) {
	ready := jobs.FollowUp{LineRefusals: r.b.LineRefusals}
	held, code := ready, ""
	for place, entry := range r.entries {
		next, ok := r.again[place]
		if !ok || r.cursor.Settled.Has(place) {
			continue
		}
		if !next.idle {
			entry.Attempt++
		}
		if next.hold == "" {
			ready.Rows = append(ready.Rows, entry)
			continue
		}
		held.Rows = append(held.Rows, entry)
		if code == "" || next.hold == events.HoldCredit {
			code = next.hold
		}
	}
	if len(ready.Rows) > 0 {
		all = append(all, ready)
	}
	if len(held.Rows) > 0 {
		held.Hold = heldFollowUp(code, len(held.Rows), r.b.N, r.facts())
		all = append(all, held)
	}
	return all
}

// heldFollowUp is the hold of rows that the provider stopped for the key's sake.
func heldFollowUp(code string, rows int, parent string, f facts) *events.Hold {
	message := fmt.Sprintf("%d rows of batch %s were stopped with 403: the key lost its access to them; give it back, then resume", rows, parent)
	if code == events.HoldCredit {
		message = fmt.Sprintf("%d rows of batch %s were stopped for want of credit (402): top up, wait five minutes, then resume", rows, parent)
	}
	return &events.Hold{Code: code, Message: message, At: f.now}
}

// confirm asks once more before rows are paid for again: somebody may have had the provider run the batch again, and an answer may stand on a
// row's subject though no cursor says so. It reports whether the batch runs again.
func (r *run) confirm(ctx context.Context) (reopened bool, err error) {
	var asked trouble
	remote, err := r.reread(ctx, &asked)
	switch {
	case err != nil:
		return false, err
	case asked.other != nil:
		return false, &providerError{asked.other}
	case remote.Alive():
		return true, r.reopen(ctx, &remote)
	}
	return false, r.answered(ctx)
}

// answered takes rows back from the follow-ups whose results stand already: a process that was cut off, or too late to say so, published them.
func (r *run) answered(ctx context.Context) error {
	entries, places := r.entriesOf(r.again)
	for row, err := range manifest.Rows(ctx, r.s.cfg.Bus, r.b.Queue, r.b.Job, entries) {
		if err != nil {
			return fmt.Errorf("read rows to try again: %w", err)
		}
		standing, err := messages.Standing(ctx, r.s.cfg.Bus, events.ResultSubject(r.b.Queue, r.b.Job, row.CustomID))
		switch {
		case err == nil:
			place := places[row.Place]
			r.found[place] = tallyOf(&standing)
			delete(r.again, place)
		case !errors.Is(err, jetstore.ErrNotFound):
			return err
		}
	}
	return r.moveCursor(ctx)
}

// entriesOf lists the given places that have no result, in order.
func (r *run) entriesOf(chosen map[int]retry) (entries []manifest.Entry, places []int) {
	for place, entry := range r.entries {
		if _, ok := chosen[place]; ok && !r.cursor.Settled.Has(place) {
			entries, places = append(entries, entry), append(places, place)
		}
	}
	return entries, places
}
