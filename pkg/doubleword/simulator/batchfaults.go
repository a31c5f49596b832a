package simulator

import (
	"cmp"
	"math"
	"time"
)

// forever is longer than any simulated batch.
const forever = 100 * 365 * 24 * time.Hour

// thawsAt is when the batch is populated.
func (s *Simulator) thawsAt(b *batch) time.Time {
	f, ok := s.batchFault(FaultFrozenValidating, b)
	if !ok {
		return b.createdAt
	}
	return b.createdAt.Add(cmp.Or(f.Delay, forever))
}

// startsAt is when the first row may run.
func (s *Simulator) startsAt(b *batch) time.Time {
	f, ok := s.batchFault(FaultColdModel, b)
	switch {
	case !ok:
		return b.createdAt.Add(s.cfg.Latency)
	case f.Delay > 0:
		return b.createdAt.Add(f.Delay)
	default:
		window := b.ExpiresAt.Sub(b.createdAt).Minutes()
		return b.ExpiresAt.Add(-time.Duration(math.Pow(window, 0.56) * float64(time.Minute)))
	}
}

// credit tells how many of the next rows can be paid, and by which fault those after them cannot. The caller holds s.mu.
func (s *Simulator) credit(b *batch, now time.Time) (rows int, out Fault) {
	f, ok := s.batchFault(FaultCreditOut, b)
	if !ok || (f.Delay > 0 && now.Sub(b.createdAt) >= f.Delay) {
		return math.MaxInt, Fault{}
	}
	return max(f.Rows-s.state.ledgerOf(b).RowsRun, 0), f
}

// described is the batch as GET and list show it, with what faults make of it.
func (s *Simulator) described(b *batch, now time.Time) batchObject {
	o := b.described(now)
	f, ok := s.batchFault(FaultFrozenCancelling, b)
	if ok && b.cancelled() && now.Before(b.cancelledAt.Add(cmp.Or(f.Delay, forever))) {
		o.Status, o.CancelledAt = "cancelling", nil
	}
	return s.shown(b, o)
}

// inFlight are the rows that a cancel of the batch comes too late for. The caller holds s.mu.
func (s *Simulator) inFlight(b *batch, now time.Time) []hold {
	f, ok := s.batchFault(FaultLateAfterCancel, b)
	if !ok {
		return nil
	}
	var rows []hold
	for _, row := range b.todo[b.next:min(len(b.todo), b.next+cmp.Or(f.Rows, 10))] {
		rows = append(rows, hold{Row: row, Due: now.Add(f.Delay)})
	}
	return rows
}

// finishInFlight commits rows whose results came after the cancel. A retry may have taken them back meanwhile.
func (s *Simulator) finishInFlight(b *batch) {
	s.mu.Lock()
	c := chunk{from: b.input.rows, round: b.round}
	for _, h := range b.inflight {
		c.rows, c.attempts = append(c.rows, h.Row), append(c.attempts, b.attempts[h.Row])
	}
	s.mu.Unlock()
	ev := event{Kind: evRanLate, ID: b.ID, Rows: c.rows}
	if len(c.rows) == 0 || c.from == nil || s.outcomes(b, c, &ev) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.round == c.round && len(b.inflight) > 0 && b.deletedAt.IsZero() {
		ev.At, ev.Holds, ev.Lost = time.Now(), nil, nil
		_ = s.commit(ev) // a journal that broke stops every later change too
	}
}

// afterwards sets off what follows a change of a batch by itself. The caller holds s.mu.
func (s *Simulator) afterwards(b *batch) {
	if len(b.inflight) > 0 && !b.awaited {
		b.awaited = true
		s.later(time.Until(b.inflight[0].Due), func() { s.finishInFlight(b) })
	}
	f, ok := s.batchFault(FaultOperatorRetry, b)
	if !ok || !b.finished() || b.round > 0 || b.operated {
		return
	}
	b.operated = true
	s.later(f.Delay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if rows := b.retriable(); b.round == 0 && b.deletedAt.IsZero() && len(rows) > 0 {
			_ = s.retry(b, rows, time.Now()) // an operator whose call is refused leaves it at that
		}
	})
}
