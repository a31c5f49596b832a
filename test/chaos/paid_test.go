package chaos_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/test/rig"
)

// pathKey is the key of a remote batch's metadata that holds the path of its planned batch (design.md 5.4).
const pathKey = "batchbus"

// live tells whether a remote batch was, or will be, paid for: it was never cancelled and could be populated.
func live(c simulator.Create) bool { return !c.Cancelled && !c.Refused }

// judgePaid is what G3 promises, by the ledger: per planned batch one live remote batch, and the rows of that one run once.
func judgePaid(l *rig.Left) (broken []violation) {
	paths := map[string][]simulator.Create{}
	for _, c := range l.Ledger.Creates {
		paths[c.Metadata[pathKey]] = append(paths[c.Metadata[pathKey]], c)
	}
	named, abandoned := map[string]events.Batch{}, map[string]bool{}
	for _, b := range l.Batches {
		for _, id := range b.Abandoned {
			abandoned[id] = true // at a person's word, who knows that it may have run
		}
		if b.ProviderBatchID != "" {
			named[b.ProviderBatchID] = b
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		var alive []simulator.Create
		for _, c := range paths[path] {
			if live(c) && !abandoned[c.BatchID] {
				alive = append(alive, c)
			}
		}
		if len(alive) > 1 {
			broken = append(broken, violation{paidOnce, fmt.Sprintf("%s has %d live batches", path, len(alive))})
		}
		for _, c := range alive {
			broken = append(broken, judgeRun(c, named)...)
		}
	}
	return broken
}

// judgeRun compares a live remote batch with the planned one that names it.
func judgeRun(c simulator.Create, named map[string]events.Batch) []violation {
	b, ok := named[c.BatchID]
	switch {
	case !ok:
		return []violation{{paidOnce, fmt.Sprintf("%s of %s is live, and no state names it", c.BatchID, c.Metadata[pathKey])}}
	case c.Rows != b.Rows || c.RowsRun != b.Rows:
		return []violation{{rowsRun, fmt.Sprintf("batch %s of %s has %d rows, was sent as %d and ran %d", b.N, b.Job, b.Rows, c.Rows, c.RowsRun)}}
	default:
		return nil
	}
}

// zombieRows are what the provider ran in batches that were cancelled: after a job's cancel what had already started, else the price of a
// create that came to light too late.
func zombieRows(l *rig.Left) (n int) {
	for _, c := range l.Ledger.Creates {
		if !live(c) {
			n += c.RowsRun
		}
	}
	return n
}
