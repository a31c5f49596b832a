package simulator

import (
	"fmt"
	"slices"
	"time"
)

// populate makes the rows of a batch, all pending.
func (b *batch) populate(at time.Time) {
	b.populatedAt = at
	b.states, b.attempts = make([]rowState, b.Rows), make([]uint8, b.Rows)
	b.plan()
}

// plan puts every pending row into the order of the coming round.
func (b *batch) plan() {
	todo := make([]uint32, 0, len(b.states))
	for i, s := range b.states {
		if s == rowPending {
			todo = append(todo, uint32(i))
		}
	}
	b.todo, b.next = shuffled(todo, mix(b.Seed, uint64(b.nth+b.round))), 0
}

// ran gives the next rows of the round their outcomes, in the order they ran.
func (b *batch) ran(ev event) error {
	if b.next+ev.Ran > len(b.todo) {
		return fmt.Errorf("apply ran: batch %s has %d rows left, not %d", b.ID, len(b.todo)-b.next, ev.Ran)
	}
	for _, row := range b.todo[b.next : b.next+ev.Ran] {
		failed := slices.Contains(ev.Failed, row)
		held := slices.IndexFunc(ev.Holds, func(h hold) bool { return h.Row == row })
		switch {
		case held >= 0:
			b.hold(ev.Holds[held], failed)
		case slices.Contains(ev.Lost, row):
			b.states[row] = rowLost
			b.lost++
		default:
			b.finish(row, failed)
		}
	}
	b.remember(ev.Odd)
	b.next += ev.Ran
	b.lastRowAt = ev.At
	if b.next == len(b.todo) {
		b.todo, b.next = nil, 0
	}
	return nil
}

func (b *batch) finish(row uint32, failed bool) {
	if failed {
		b.states[row] = rowFailed
		b.failed = append(b.failed, row)
		return
	}
	b.states[row] = rowCompleted
	b.completed = append(b.completed, row)
}

// ranLate ends rows that were in flight when the batch was cancelled.
func (b *batch) ranLate(ev event) {
	b.remember(ev.Odd)
	for _, row := range ev.Rows {
		b.finish(row, slices.Contains(ev.Failed, row))
	}
	b.inflight, b.lastRowAt = nil, ev.At
}

func (b *batch) hold(h hold, failed bool) {
	place := len(b.completed)
	if failed {
		place = len(b.failed)
	}
	if h.Retried {
		place = atEnd
	}
	b.states[h.Row] = rowHeld
	b.held = append(b.held, heldRow{row: h.Row, place: place, failed: failed, due: h.Due})
}

// nextHeld is when the next held row is due.
func (b *batch) nextHeld() time.Time {
	return slices.MinFunc(b.held, func(a, b heldRow) int { return a.due.Compare(b.due) }).due
}

// late commits held rows at the places they ran, which moves every later line by one.
func (b *batch) late(ev event) error {
	for _, row := range ev.Rows {
		i := slices.IndexFunc(b.held, func(h heldRow) bool { return h.row == row })
		if i < 0 {
			return fmt.Errorf("apply late: batch %s does not hold row %d", b.ID, row)
		}
		h := b.held[i]
		b.held = slices.Delete(b.held, i, i+1)
		b.insert(h)
	}
	b.lastRowAt = ev.At
	return nil
}

func (b *batch) insert(h heldRow) {
	if h.place == atEnd {
		b.finish(h.row, h.failed)
		return
	}
	if h.failed {
		b.states[h.row] = rowFailed
		b.failed = slices.Insert(slices.Clone(b.failed), h.place, h.row)
	} else {
		b.states[h.row] = rowCompleted
		b.completed = slices.Insert(slices.Clone(b.completed), h.place, h.row)
	}
	for i := range b.held {
		if b.held[i].failed == h.failed && b.held[i].place >= h.place {
			b.held[i].place++
		}
	}
}

// stamp ends a batch: completed needs one completed row.
func (b *batch) stamp(at time.Time) {
	if b.completedCount() > 0 {
		b.completedAt = at
		return
	}
	b.failedAt = at
}

// retry sends rows back to pending and clears every final stamp; the deadline stays.
func (b *batch) retry(ev event) {
	for _, row := range ev.Rows {
		b.states[row] = rowPending
		b.attempts[row]++
		delete(b.odd, row)
	}
	kept := make([]uint32, 0, len(b.failed))
	for _, row := range b.failed {
		if b.states[row] == rowFailed {
			kept = append(kept, row)
		}
	}
	b.failed = kept
	for i := range b.held {
		if b.held[i].failed {
			b.held[i].place = min(b.held[i].place, len(kept))
		}
	}
	b.inflight = slices.DeleteFunc(b.inflight, func(h hold) bool { return b.states[h.Row] != rowCanceled })
	b.completedAt, b.failedAt, b.cancelledAt = time.Time{}, time.Time{}, time.Time{}
	b.round++
	if b.populated() {
		b.plan()
	}
}

// retriable are the rows that a retry of the whole batch sends back.
func (b *batch) retriable() []uint32 {
	var rows []uint32
	for i, state := range b.states {
		if state == rowFailed || state == rowCanceled {
			rows = append(rows, uint32(i))
		}
	}
	return rows
}
