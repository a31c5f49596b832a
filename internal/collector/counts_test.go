package collector_test

import (
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// A lie of the cursor loses a row that only a second look at the whole file finds: counts that cannot be true must not talk the collector out of it.
func TestImpossibleCountsKeepNoRowFromBeingLookedFor(t *testing.T) {
	t.Parallel()
	inWorld(t, named(3), func(w *world) {
		w.answers(0, 1)
		w.edit(events.BatchProgress, func(b *events.Batch) { b.Counts.Completed = 2 })
		s := w.service(nil)
		w.collect(s)
		w.p.change(func() { w.out.lines = append([]string{okLine(w.wire(2), answerBody("late", 1))}, w.out.lines...) })
		w.finish("completed", 0, 0)
		w.p.change(func() { w.p.batch.Counts, w.p.batch.CountsImpossible = doubleword.Counts{}, true })
		w.untilSettled(s)
		w.want("outcomes", w.outcomes(), map[string]int{"succeeded": 3})
	})
}
