package plan

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestEachSourceEndsOnceHoweverPlannersCrashAndRace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		w := newWorld(t, s)
		w.settles = rapid.Bool().Draw(t, "settles")
		state := w.run(t, func() { w.checkCounts(t) })
		wantFate, wantBatches, owners, rejected := fates(s)
		gotFate, gotBatches := found(t, w.bus)
		compare(t, "fates", gotFate, wantFate)
		compare(t, "batches", gotBatches, wantBatches)
		if state.State == events.JobOpen || state.Rows != owners || state.Rejected != rejected || state.Batches != len(wantBatches) {
			t.Fatalf("job is %+v, want %d rows, %d rejected, %d batches", state, owners, rejected, len(wantBatches))
		}
		if newest := w.bus.rows[len(w.bus.rows)-1].Sequence; state.Walked.Sequence != newest {
			t.Fatalf("walked to %d of %d", state.Walked.Sequence, newest)
		}
	})
}

func compare[K comparable, V comparable](t *rapid.T, what string, got, want map[K]V) {
	for key, value := range want {
		if got[key] != value {
			t.Fatalf("%s: %v is %v, want %v", what, key, got[key], value)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d, want %d: %v", what, len(got), len(want), got)
	}
}

func TestAfterTheWishToCancelNothingMoreIsCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		w := newWorld(t, s)
		after := rapid.IntRange(0, len(s.blocks)-1).Draw(t, "wish after")
		batchesAtWish := -1
		state := w.run(t, func() {
			if w.fed > after && batchesAtWish < 0 {
				batchesAtWish = w.wish(t)
			}
		})
		wantFate, _, owners, rejected := fates(s)
		gotFate, gotBatches := found(t, w.bus)
		cancelled := 0
		for source, want := range wantFate {
			got := gotFate[source]
			if want == "batch" && got == string(events.Cancelled) {
				cancelled++
				continue
			}
			if got != want {
				t.Fatalf("%v is %q, want %q", source, got, want)
			}
		}
		if len(gotFate) != len(wantFate) {
			t.Fatalf("%d sources have an end, want %d", len(gotFate), len(wantFate))
		}
		if state.Rows != owners || state.Rejected != rejected || state.CancelledRows != cancelled {
			t.Fatalf("job is %+v, want %d rows, %d rejected, %d cancelled", state, owners, rejected, cancelled)
		}
		if batchesAtWish >= 0 && len(gotBatches) != batchesAtWish {
			t.Fatalf("%d batches, %d at the time of the wish", len(gotBatches), batchesAtWish)
		}
	})
}

// wish stores the wish to cancel and returns how many batches there are then.
func (w *world) wish(t *rapid.T) int {
	calm := w.bus.before
	w.bus.before = nil
	defer func() { w.bus.before = calm }()
	store := jobs.New(w.bus)
	state, err := store.Job(context.Background(), queue, job)
	if err != nil {
		t.Fatal(err)
	}
	change := jobs.NewChange(time.Now())
	state.CancelWanted = &state.OpenedAt
	change.Job(&state, events.JobCancelling)
	if err := store.Commit(context.Background(), change); err != nil {
		t.Fatal(err)
	}
	return state.Batches
}
