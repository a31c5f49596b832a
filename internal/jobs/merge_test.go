package jobs_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// usageOf gives each place a usage that no sum of others equals, so that one counted twice or left out shows.
func usageOf(place int) events.Totals {
	return events.Totals{Rows: 1, Succeeded: 1, Usage: events.Usage{TotalTokens: 1 << place, PromptTokens: int64(place)}}
}

// findings are what one collector has found, more with each step.
func findings(t *rapid.T, n int, name string) []events.Cursor {
	var steps []events.Cursor
	found := events.Cursor{Settled: events.NewBits(n)}
	for _, places := range rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 4), 0, 5).Draw(t, name) {
		found.Settled = found.Settled.Clone()
		for _, place := range places {
			found.Settled.Set(place)
		}
		found.OutputLines += len(places)
		found.ErrorLines += rapid.IntRange(0, 2).Draw(t, name+" errors")
		steps = append(steps, found)
	}
	return steps
}

func TestTwoCollectorsMergeToTheUnionWithEachPlaceCountedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		collectors := [][]events.Cursor{findings(t, n, "first"), findings(t, n, "second")}
		current, union := events.Cursor{Settled: events.NewBits(n)}, events.NewBits(n)
		var lines, errorLines int
		for len(collectors[0])+len(collectors[1]) > 0 {
			turn := rapid.IntRange(0, 1).Draw(t, "turn")
			if len(collectors[turn]) == 0 {
				turn = 1 - turn
			}
			found := collectors[turn][0]
			collectors[turn] = collectors[turn][1:]
			before := found.Settled.Clone()
			jobs.Merge(&current, found, usageOf)
			if string(before) != string(found.Settled) {
				t.Fatal("the merge changed what was found")
			}
			for place := range n {
				if found.Settled.Has(place) {
					union.Set(place)
				}
			}
			lines, errorLines = max(lines, found.OutputLines), max(errorLines, found.ErrorLines)
			var want events.Totals
			for place := range n {
				if union.Has(place) {
					want.Add(usageOf(place))
				}
			}
			if string(current.Settled) != string(union) || current.Totals != want {
				t.Fatalf("settled %v totals %+v\nwant    %v totals %+v", current.Settled, current.Totals, union, want)
			}
			if current.OutputLines != lines || current.ErrorLines != errorLines {
				t.Fatalf("lines %d and %d, want %d and %d", current.OutputLines, current.ErrorLines, lines, errorLines)
			}
		}
	})
}
