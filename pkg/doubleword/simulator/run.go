package simulator

import (
	"math"
	"slices"
	"time"
)

// maxChunk is how many rows become visible at once when nothing paces them.
const maxChunk = 512

// chunk is the next rows of a batch, taken out of the lock to be run.
type chunk struct {
	rows     []uint32
	attempts []uint8
	from     *rowIndex
	round    int
	broke    *Fault // no credit: every row is refused, at full speed
}

// start gives the batch a goroutine unless it has one. The caller holds s.mu.
func (s *Simulator) start(b *batch) {
	if b.running || s.closed || !b.deletedAt.IsZero() {
		return
	}
	b.running = true
	s.running.Go(func() { s.run(b) })
}

// later runs act after a while, unless the simulator stops first. The caller holds s.mu.
func (s *Simulator) later(d time.Duration, act func()) {
	if s.closed {
		return
	}
	s.running.Go(func() {
		if s.wait(d) {
			act()
		}
	})
}

// resume starts what an earlier process left unfinished, or what other faults held up.
func (s *Simulator) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.state.batchOrder {
		if len(b.held) > 0 || (b.unfinished() > 0 && !b.cancelled() && b.failedAt.IsZero()) {
			s.start(b)
		}
		s.afterwards(b)
		b.wakeUp()
	}
}

// wakeUp makes the batch's goroutine look again at what it waits for.
func (b *batch) wakeUp() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// run takes one batch from creation to its last row. Nothing it does is visible before it is in the journal.
func (s *Simulator) run(b *batch) {
	for {
		c, due, more := s.next(b)
		if !more {
			return
		}
		if len(c.rows) == 0 {
			if !s.waitOr(b.wake, time.Until(due)) || !s.runChunk(b, c) {
				s.release(b)
				return
			}
			continue
		}
		pause := s.pause(len(c.rows))
		if c.broke != nil {
			pause = 0
		}
		if !s.wait(pause) || !s.runChunk(b, c) {
			s.release(b)
			return
		}
	}
}

// next takes the next rows, or says until when to wait for something; with neither the goroutine owns nothing more.
func (s *Simulator) next(b *batch) (c chunk, due time.Time, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.expires(b, now) && s.commit(event{Kind: evExpired, At: now, ID: b.ID}) != nil {
		b.running = false
		return chunk{}, time.Time{}, false
	}
	if s.cfg.Dialect == DialectOpenAI && now.Before(b.ExpiresAt) {
		defer func() { due = earlier(due, b.ExpiresAt) }()
	}
	if !b.populated() && !b.cancelled() && b.failedAt.IsZero() {
		if thaws := s.thawsAt(b); now.Before(thaws) {
			return chunk{}, thaws, true
		}
		if s.commit(event{Kind: b.population(), At: now, ID: b.ID}) != nil {
			b.running = false
			return chunk{}, time.Time{}, false
		}
	}
	waiting := b.next < len(b.todo)
	if starts := s.startsAt(b); waiting && now.Before(starts) {
		return chunk{}, starts, true
	}
	if waiting {
		return s.nextChunk(b, now), time.Time{}, true
	}
	if len(b.held) == 0 || !b.deletedAt.IsZero() {
		b.running = false
		return chunk{}, time.Time{}, false
	}
	return chunk{}, b.nextHeld(), true
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// population is what becomes of a new batch: a file without rows (an output file, say) makes it fail.
func (b *batch) population() eventKind {
	if b.Rows == 0 {
		return evUnpopulable
	}
	return evPopulated
}

// nextChunk takes rows as far as pace and credit go. The caller holds s.mu.
func (s *Simulator) nextChunk(b *batch, now time.Time) chunk {
	c, n := chunk{from: b.input.rows, round: b.round}, s.chunkSize()
	if paid, out := s.credit(b, now); paid == 0 {
		c.broke, n = &out, maxChunk
	} else {
		n = min(n, paid)
	}
	c.rows = slices.Clone(b.todo[b.next:min(len(b.todo), b.next+n)])
	for _, row := range c.rows {
		c.attempts = append(c.attempts, b.attempts[row])
	}
	return c
}

func (s *Simulator) release(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.running = false
}

// chunkSize makes about twenty steps a second.
func (s *Simulator) chunkSize() int {
	if s.cfg.RowsPerSecond == 0 {
		return maxChunk
	}
	return int(min(max(math.Floor(s.cfg.RowsPerSecond/20), 1), maxChunk))
}

func (s *Simulator) pause(rows int) time.Duration {
	if s.cfg.RowsPerSecond == 0 {
		return 0
	}
	return time.Duration(float64(rows) / s.cfg.RowsPerSecond * float64(time.Second))
}

// wait answers false when the simulator stops first.
func (s *Simulator) wait(d time.Duration) bool { return s.waitOr(nil, d) }

// waitOr waits, but no longer than until woken.
func (s *Simulator) waitOr(woken <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-s.stop:
		return false
	case <-woken:
		return true
	case <-timer.C:
		return true
	}
}

// runChunk decides the outcomes outside the lock and commits them, unless a cancel or retry came between.
func (s *Simulator) runChunk(b *batch, c chunk) bool {
	ev := event{Kind: evRan, ID: b.ID, Ran: len(c.rows)}
	switch {
	case c.broke != nil:
		ev.Unpaid, ev.Failed = true, c.rows
		ev.Odd = []oddRows{{oddity: oddity{Kind: FaultCreditOut, Status: c.broke.Status, Text: c.broke.Text}, Rows: c.rows}}
	case len(c.rows) > 0:
		if err := s.outcomes(b, c, &ev); err != nil {
			return false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ev.At = time.Now()
	if s.current(b, c) && s.commit(ev) != nil {
		return false
	}
	return s.commitLate(b, ev.At) == nil
}

// current tells whether the chunk is still what runs next. The caller holds s.mu.
func (s *Simulator) current(b *batch, c chunk) bool {
	return len(c.rows) > 0 && b.round == c.round && len(b.todo)-b.next >= len(c.rows)
}

// outcomes runs the rows: who fails, who is late, who is lost.
func (s *Simulator) outcomes(b *batch, c chunk, ev *event) error {
	rows, err := c.from.open()
	if err != nil {
		return err
	}
	defer rows.close()
	faults, now := s.rowFaults(b), time.Now()
	for i, n := range c.rows {
		line, err := rows.line(n)
		if err != nil {
			return err
		}
		row := parseRow(line)
		if b.failure(row, c.attempts[i], nil).kind != "" {
			ev.Failed = append(ev.Failed, n)
		}
		for _, f := range faults {
			if f.hitsRow(b, n, row.customID()) {
				ev.befall(f, b, n, c.round, now)
			}
		}
	}
	return nil
}

// commitLate commits held rows whose delay is over. The caller holds s.mu.
func (s *Simulator) commitLate(b *batch, now time.Time) error {
	var rows []uint32
	for _, h := range b.held {
		if !now.Before(h.due) {
			rows = append(rows, h.row)
		}
	}
	if len(rows) == 0 || s.expires(b, now) {
		return nil
	}
	return s.commit(event{Kind: evLate, At: now, ID: b.ID, Rows: rows})
}
