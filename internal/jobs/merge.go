package jobs

import "github.com/batchbus/batchbus/pkg/events"

// Merge puts what one collector settled, found while the cursor stood at base, onto current, which another may have moved meanwhile:
// cursors by maximum, bits by OR, sums for new bits only. count gives the totals of one place.
func Merge(current *events.Cursor, found events.Cursor, count func(place int) events.Totals) {
	current.OutputLines = max(current.OutputLines, found.OutputLines)
	current.ErrorLines = max(current.ErrorLines, found.ErrorLines)
	for place := range len(found.Settled) * 8 {
		if found.Settled.Has(place) && !current.Settled.Has(place) {
			current.Settled.Set(place)
			current.Totals.Add(count(place))
		}
	}
}
