package jobs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// held puts a batch that is held into the state.
func (r *rig) held(n string, state events.BatchState, code string, edit func(*jobs.Batch)) {
	r.t.Helper()
	b := newBatch(n, state, 1)
	b.Hold = &events.Hold{Code: code, At: time.Now()}
	b.Why, b.NextTryAt, b.LastError, b.LineRefusals = "why", new(time.Now()), "error", 20
	if edit != nil {
		edit(b)
	}
	r.commit(func(c *jobs.Change) { c.Batch(b, events.BatchHeld) })
}

func (r *rig) end(n string, kind events.WishKind) (jobs.Batch, error) {
	r.t.Helper()
	return r.jobs.EndHold(r.t.Context(), queue, job, n, events.Wish{Kind: kind, ProviderBatchID: "remote"})
}

func TestAResumedBatchWaitsAsItsStateDoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n, c := range map[string]struct {
		state   events.BatchState
		why     string
		next    bool // the time of the next try stays
		polled  bool // the poller is to look at once
		refused int
		code    string
	}{
		"1": {state: events.BatchPlanned, code: events.HoldCredit, refused: 20},
		"2": {state: events.BatchUploaded, code: events.HoldLineRefusals},
		"3": {state: events.BatchCreating, code: events.HoldRefused, why: "create_unanswered", refused: 20},
		"4": {state: events.BatchFencing, code: events.HoldFence, why: "fencing", refused: 20},
		"5": {state: events.BatchSubmitted, code: events.HoldNeedsAttention, polled: true, refused: 20},
		"6": {state: events.BatchFinished, code: events.HoldNeedsAttention, why: "why", next: true, refused: 20},
		"7": {state: events.BatchUploaded, code: events.HoldCapability, refused: 20},
	} {
		r.held(n, c.state, c.code, func(b *jobs.Batch) { b.UnknownSince = new(time.Now()) })
		b, err := r.end(n, events.WishResume)
		if err != nil || b.Hold != nil || b.Wish != nil || b.State != c.state || b.Why != c.why || b.LastError != "" ||
			(b.NextTryAt != nil) != c.next || (b.NextPollAt != nil) != c.polled || b.LineRefusals != c.refused || c.polled && b.UnknownSince != nil {
			t.Errorf("%s in %s: %+v, %v", c.code, c.state, b.Batch, err)
		}
		if stored := r.batch(n); stored.Revision != b.Revision || stored.Hold != nil {
			t.Errorf("%s: stored %+v", n, stored.Batch)
		}
		if _, err := r.end(n, events.WishResume); !errors.Is(err, jobs.ErrNotHeld) {
			t.Errorf("%s: a second resume: %v", n, err)
		}
	}
}

func TestAWishStandsBesideItsHoldAndTheLastOneCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.commit(func(c *jobs.Change) {
		b := newBatch("1", events.BatchCreating, 1)
		b.Hold = &events.Hold{Code: events.HoldCapability}
		c.Batch(b, events.BatchNeedsAttention)
	})
	var last uint64
	for i, kind := range []events.WishKind{events.WishAdopt, events.WishAdopt, events.WishAbandon, events.WishResume} {
		b, err := r.end("1", kind)
		if err != nil || b.Hold == nil || b.Wish == nil || b.Wish.Kind != kind || b.Wish.Hold != events.HoldCapability || b.Wish.At.IsZero() {
			t.Fatalf("%s: %+v, %v", kind, b.Batch, err)
		}
		if repeated := i == 1; repeated != (b.Revision == last) {
			t.Errorf("wish %d: revision %d after %d", i, b.Revision, last)
		}
		last = b.Revision
	}
	var told []string
	for _, line := range r.told(r.mark()) {
		told = append(told, strings.Fields(line)[0])
	}
	if want := []string{"batch.needs_attention", "batch.adopting", "batch.abandoning", "job.held"}; !slices.Equal(slices.DeleteFunc(told, isOpened), want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func isOpened(kind string) bool { return kind == string(events.JobOpened) }

func TestAHoldThatDoesNotEndInTheWayThatWasAskedForStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.held("1", events.BatchPlanned, events.HoldBusOlder, func(b *jobs.Batch) { b.OpaqueIDs = true })
	r.held("2", events.BatchPlanned, events.HoldKeyMissing, nil)
	r.held("3", events.BatchSettled, events.HoldCredit, nil)
	for _, c := range []struct {
		n    string
		kind events.WishKind
		want error
	}{
		{"1", events.WishResume, jobs.ErrOtherEnd},
		{"1", events.WishAdopt, jobs.ErrOpaque},
		{"2", events.WishResume, jobs.ErrOtherEnd},
		{"3", events.WishResume, jobs.ErrNotHeld},
		{"4", events.WishAbandon, jetstore.ErrNotFound},
	} {
		if _, err := r.end(c.n, c.kind); !errors.Is(err, c.want) {
			t.Errorf("%s of %s: %v, want %v", c.kind, c.n, err, c.want)
		}
	}
	for _, n := range []string{"1", "2", "3"} {
		if b := r.batch(n); b.Hold == nil || b.Wish != nil {
			t.Errorf("%s was changed: %+v", n, b.Batch)
		}
	}
}

func TestAHeldJobIsResumedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := r.open()
	j.Hold = &events.Hold{Code: events.HoldRowsOlder}
	r.commit(func(c *jobs.Change) { c.Job(j, events.JobHeld) })
	if got, err := r.jobs.ResumeJob(t.Context(), queue, job); err != nil || got.Hold != nil || r.job().Hold != nil {
		t.Errorf("%+v %v", got.Job, err)
	}
	if _, err := r.jobs.ResumeJob(t.Context(), queue, job); !errors.Is(err, jobs.ErrNotHeld) {
		t.Error(err)
	}
}
