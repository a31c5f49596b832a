package audit

import (
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

// carried is a batch with what is read for it.
type carried struct {
	*events.Batch
	cursor events.Cursor
	// followed is how many rows its follow-ups hold.
	followed int
}

// batch takes a batch with its manifest; a parent comes before its follow-ups. A row may be taken from the parent, and from nobody else.
func (l *ledger) batch(b *carried, entries []manifest.Entry) {
	l.batches = append(l.batches, carrier{n: b.N, ended: b.State.Ended()})
	me := uint32(len(l.batches))
	l.byN[b.N] = me
	if len(entries) != b.Rows {
		l.report.problem(Problem{Code: ManifestUnread, Batch: b.N}, "the manifest lists %d rows and the batch %d", len(entries), b.Rows)
	}
	parent := l.byN[b.Parent] // 0 for a batch of the planner
	for place := range entries {
		e := &entries[place]
		o := l.at(e.Place)
		if o == nil || o.refused || o.source != e.Source {
			at := e.Place
			l.report.problem(Problem{Code: ForeignRow, Batch: b.N, Place: &at}, "line %d of the batch is no good row that owns its custom_id", place+1)
			continue
		}
		switch {
		case o.batch != parent && o.batch == 0:
			l.report.problem(Problem{Code: ForeignRow, Batch: b.N, Place: o.place()}, "line %d of the batch is not in batch %s, which it follows up", place+1, b.Parent)
		case o.batch != parent:
			l.report.problem(Problem{Code: PlannedTwice, Batch: b.N, Place: o.place()}, "line %d of the batch is %s", place+1, l.elsewhere(o, me))
		case o.settled:
			l.report.problem(Problem{Code: PlannedTwice, Batch: b.N, Place: o.place()}, "line %d of the batch had its result from batch %s already", place+1, b.Parent)
		}
		o.batch, o.settled = me, b.cursor.Settled.Has(place)
	}
}

// elsewhere says which batch a row is in that should be in the parent, or nowhere.
func (l *ledger) elsewhere(o *owner, me uint32) string {
	if o.batch == me {
		return "in it twice"
	}
	return "in batch " + l.batches[o.batch-1].n + " too"
}

// account sees whether an ended batch accounts for each of its rows.
func (l *ledger) account(b *carried) {
	if !b.State.Ended() {
		return
	}
	if b.Totals == nil {
		l.report.problem(Problem{Code: BatchTotals, Batch: b.N}, "the batch has ended without totals")
		return
	}
	if b.Totals.Rows+b.followed != b.Rows {
		l.report.problem(Problem{Code: BatchTotals, Batch: b.N}, "of its %d rows %d were answered and %d went to follow-ups", b.Rows, b.Totals.Rows, b.followed)
	}
	if outcomes(b.Totals) != b.Totals.Rows {
		l.report.problem(Problem{Code: BatchTotals, Batch: b.N}, "its outcomes add up to %d and not to %d", outcomes(b.Totals), b.Totals.Rows)
	}
}

func outcomes(t *events.Totals) int {
	return t.Succeeded + t.Failed + t.Expired + t.Cancelled + t.Rejected
}
