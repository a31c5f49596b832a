package events_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestBitsAreASetOfPlaces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		places := rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(t, "places")
		bits, want := events.NewBits(n), map[int]bool{}
		for _, place := range places {
			bits.Set(place)
			want[place] = true
		}
		clone := bits.Clone()
		clear(bits)
		for place := range n + 20 {
			if clone.Has(place) != want[place] {
				t.Fatalf("place %d: %v, want %v", place, clone.Has(place), want[place])
			}
		}
		if clone.Count() != len(want) || bits.Count() != 0 {
			t.Fatalf("count %d, want %d; the original has %d", clone.Count(), len(want), bits.Count())
		}
	})
}

func TestEveryOutcomeIsCountedOnce(t *testing.T) {
	t.Parallel()
	var totals events.Totals
	usage := events.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3}
	for _, outcome := range []events.Outcome{events.Succeeded, events.Failed, events.Expired, events.Cancelled, events.Rejected} {
		totals.Count(outcome, true, usage)
	}
	want := events.Totals{
		Rows: 5, Succeeded: 1, Failed: 1, Expired: 1, Cancelled: 1, Rejected: 1, Truncated: 1,
		Usage: events.Usage{PromptTokens: 5, CompletionTokens: 10, TotalTokens: 15},
	}
	if totals != want {
		t.Errorf("%+v, want %+v", totals, want)
	}
}

func TestABatchHasEndedWhenNothingMovesItAnyMore(t *testing.T) {
	t.Parallel()
	for state, ended := range map[events.BatchState]bool{
		events.BatchPlanned: false, events.BatchUploaded: false, events.BatchCreating: false, events.BatchFencing: false,
		events.BatchSubmitted: false, events.BatchFinished: false,
		events.BatchSettled: true, events.BatchRefused: true, events.BatchCancelled: true,
	} {
		if state.Ended() != ended {
			t.Errorf("%s: %v", state, state.Ended())
		}
	}
}

func TestAPlaceComesAfterThoseBeforeIt(t *testing.T) {
	t.Parallel()
	order := []events.RowPlace{{}, {Sequence: 1}, {Sequence: 1, Index: 1}, {Sequence: 2}, {Sequence: 2, Index: 9}, {Sequence: 10}}
	for i, p := range order {
		for k, q := range order {
			if p.After(q) != (i > k) {
				t.Errorf("%v after %v: %v", p, q, p.After(q))
			}
		}
	}
}

func TestADeadLetterSaysWhereItStood(t *testing.T) {
	t.Parallel()
	d := events.DeadLetter{Line: 3, Column: 17}
	if got := d.Place(); got != "line 3, column 17" {
		t.Error(got)
	}
	d.Column = 0
	if got := d.Place(); got != "line 3" {
		t.Error(got)
	}
}

func TestWhatIsNoJSONIsAnError(t *testing.T) {
	t.Parallel()
	for name, decode := range map[string]func([]byte) (any, error){
		"result": decodeResult, "dead letter": decodeDeadLetter, "job": decodeJob, "batch": decodeBatch, "cursor": decodeCursor,
		"event": decodeEvent,
	} {
		for _, text := range []string{"", "{", `{"job":1}`, `[]`} {
			if _, err := decode([]byte(text)); err == nil && (name != "cursor" || text != `{"job":1}`) {
				t.Errorf("%s: %q is taken", name, text)
			}
		}
	}
}
