package jobs_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

// finished is batch 5 of the open job, with a cursor on which its first row is settled.
func (r *rig) finished(rows int) (*jobs.Batch, *jobs.Cursor) {
	r.t.Helper()
	b := newBatch("5", events.BatchFinished, rows)
	b.Hold, b.Why, b.LastError = &events.Hold{Code: events.HoldCredit}, "waiting", "an error"
	r.commit(func(c *jobs.Change) { c.Batch(b) })
	cursor, err := r.jobs.Cursor(r.t.Context(), b)
	if err != nil {
		r.t.Fatal(err)
	}
	cursor.Settled.Set(0)
	cursor.Totals = events.Totals{Rows: 1, Succeeded: 1, Usage: events.Usage{TotalTokens: 5}}
	return b, &cursor
}

func TestSettlingHandsTheRestToFollowUps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := r.open()
	rows := append(r.plant("a", "b", "c"), r.plant("d")...)
	for i := range rows {
		rows[i].Attempt = 2
	}
	b, cursor := r.finished(4)
	replaced := b.Revision
	settlement := jobs.Settlement{
		Batch: b, Cursor: cursor, State: events.BatchSettled, Why: "two rows go on",
		FollowUps: []jobs.FollowUp{{Rows: []manifest.Entry{rows[1], rows[3]}, LineRefusals: 4}, {Rows: rows[2:3]}},
	}
	if err := r.jobs.Settle(t.Context(), r.Store, settlement); err != nil {
		t.Fatal(err)
	}
	stored := r.batch("5")
	if stored.State != events.BatchSettled || !slices.Equal(stored.FollowUps, []string{"5-1", "5-2"}) || *stored.Totals != cursor.Totals {
		t.Errorf("the batch is %+v", stored)
	}
	if stored.Why != "two rows go on" || stored.Hold != nil || stored.LastError != "" {
		t.Errorf("the batch still says %q %v %q", stored.Why, stored.Hold, stored.LastError)
	}
	if b.Revision != stored.Revision || b.State != stored.State {
		t.Errorf("the caller's batch is %+v", b)
	}
	if again, err := r.jobs.Cursor(t.Context(), b); err != nil || !again.Settled.Has(0) || again.Revision != cursor.Revision {
		t.Errorf("the cursor is %+v, %v", again, err)
	}
	if got := r.job(); got.FollowUps != 2 || got.Revision == j.Revision {
		t.Errorf("the job counts %d follow-ups", got.FollowUps)
	}
	want := []string{
		"job.opened 0-0", "batch.planned 5-1-0", "batch.planned 5-2-0", fmt.Sprintf("batch.settled 5-%d", replaced),
		fmt.Sprintf("job.held 0-%d", r.job().Revision),
	}
	if got := r.told(r.mark()); !slices.Equal(got, want) {
		t.Errorf("events\n got %v\nwant %v", got, want)
	}
	r.checkFollowUp("5-1", settlement.FollowUps[0], "b", "d")
	r.checkFollowUp("5-2", settlement.FollowUps[1], "c")
}

// checkFollowUp compares a follow-up with what the uploader would make of its rows.
func (r *rig) checkFollowUp(n string, f jobs.FollowUp, ids ...string) {
	r.t.Helper()
	child := r.batch(n)
	if child.State != events.BatchPlanned || child.Parent != "5" || child.GroupKey != group || child.Key != "k" ||
		child.Organization != "org" || child.Rows != len(f.Rows) || child.LineRefusals != f.LineRefusals {
		r.t.Errorf("%s is %+v", n, child)
	}
	entries, err := manifest.Load(r.t.Context(), r.Store, child.Manifest)
	if err != nil || !slices.Equal(entries, f.Rows) {
		r.t.Errorf("the manifest of %s is %v, %v", n, entries, err)
	}
	digest, file := manifest.NewDigest(group), []byte(nil)
	for placed, err := range manifest.Rows(r.t.Context(), r.Store, queue, job, entries) {
		if err != nil {
			r.t.Fatal(err)
		}
		if placed.CustomID != ids[placed.Place] {
			r.t.Errorf("place %d of %s is %s", placed.Place, n, placed.CustomID)
		}
		digest.Add(placed.CustomID, placed.Row)
		file = manifest.AppendLine(file, placed.Place, placed.Entry, child.OpaqueIDs)
	}
	if child.Digest != digest.Sum() || child.Bytes != int64(len(file)) {
		r.t.Errorf("%s has digest %s and %d bytes, want %s and %d", n, child.Digest, child.Bytes, digest.Sum(), len(file))
	}
}

func TestASettlementTellsHowTheBatchEnded(t *testing.T) {
	t.Parallel()
	for state, kind := range map[events.BatchState]events.Kind{
		events.BatchSettled: events.BatchIsSettled, events.BatchRefused: events.BatchIsRefused, events.BatchCancelled: events.BatchIsCancelled,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.open()
			b, cursor := r.finished(1)
			if err := r.jobs.Settle(t.Context(), r.Store, jobs.Settlement{Batch: b, Cursor: cursor, State: state}); err != nil {
				t.Fatal(err)
			}
			if got := r.batch("5"); got.State != state || len(got.FollowUps) > 0 {
				t.Errorf("the batch is %+v", got)
			}
			r.told(kind)
		})
	}
}

func TestASettlementThatLosesARaceLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, race := range map[string]func(r *rig, b *jobs.Batch, c *jobs.Cursor){
		"the batch moved":  func(r *rig, b *jobs.Batch, _ *jobs.Cursor) { r.commit(func(c *jobs.Change) { c.Batch(b) }) },
		"the cursor moved": func(r *rig, _ *jobs.Batch, cursor *jobs.Cursor) { r.commit(func(c *jobs.Change) { c.Cursor(cursor) }) },
		"the job moved": func(r *rig, _ *jobs.Batch, _ *jobs.Cursor) {
			j := r.job()
			r.commit(func(c *jobs.Change) { c.Job(&j) })
		},
		"the follow-up is there": func(r *rig, _ *jobs.Batch, _ *jobs.Cursor) {
			r.commit(func(c *jobs.Change) { c.Batch(newBatch("5-1", events.BatchPlanned, 1)) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.open()
			rows := r.plant("a", "b")
			b, cursor := r.finished(2)
			otherBatch, otherCursor := *b, *cursor
			otherCursor.OutputLines = 77
			bus := &interposed{Store: r.Store, beforeCommit: func() { race(r, &otherBatch, &otherCursor) }}
			settlement := jobs.Settlement{Batch: b, Cursor: cursor, State: events.BatchSettled, FollowUps: []jobs.FollowUp{{Rows: rows[1:]}}}
			if err := jobs.New(bus).Settle(t.Context(), r.Store, settlement); !jobs.IsConflict(err) {
				t.Fatalf("got %v", err)
			}
			if b.State != events.BatchFinished || len(b.FollowUps) > 0 || r.batch("5").State != events.BatchFinished || r.job().FollowUps != 0 {
				t.Errorf("the batch is %+v, the job %+v", b, r.job())
			}
			if got := r.told(r.mark()); len(got) != 2 {
				t.Errorf("events %v", got)
			}
		})
	}
}

func TestASettlementOfRowsThatAreGoneChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	rows := r.plant("a")
	rows[0].Row = block.Hash{}
	b, cursor := r.finished(1)
	err := r.jobs.Settle(t.Context(), r.Store, jobs.Settlement{
		Batch: b, Cursor: cursor, State: events.BatchSettled, FollowUps: []jobs.FollowUp{{Rows: rows}},
	})
	if !errors.Is(err, manifest.ErrRowsGone) || r.batch("5").State != events.BatchFinished || r.job().FollowUps != 0 {
		t.Errorf("got %v, the batch is %+v", err, r.batch("5"))
	}
}
