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

// resume starts what an earlier process left unfinished.
func (s *Simulator) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.state.batchOrder {
		if len(b.held) > 0 || (b.unfinished() > 0 && !b.cancelled() && b.failedAt.IsZero()) {
			s.start(b)
		}
	}
}

// run takes one batch from creation to its last row. Nothing it does is visible before it is in the journal.
func (s *Simulator) run(b *batch) {
	if !s.prepare(b) || !s.wait(time.Until(b.createdAt.Add(s.cfg.Latency))) {
		s.release(b)
		return
	}
	for {
		c, due, more := s.nextChunk(b)
		if !more {
			return
		}
		pause := time.Until(due)
		if len(c.rows) > 0 {
			pause = s.pause(len(c.rows))
		}
		if !s.wait(pause) || !s.runChunk(b, c) {
			s.release(b)
			return
		}
	}
}

// prepare populates the batch: a file without rows (an output file, say) makes it fail.
func (s *Simulator) prepare(b *batch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.populated() {
		return true
	}
	if b.cancelled() {
		return false
	}
	kind := evPopulated
	if b.Rows == 0 {
		kind = evUnpopulable
	}
	return s.commit(event{Kind: kind, At: time.Now(), ID: b.ID}) == nil && kind == evPopulated
}

// nextChunk takes the next rows, or says until when held rows wait; without either the goroutine owns nothing more.
func (s *Simulator) nextChunk(b *batch) (chunk, time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(b.todo)-b.next, s.chunkSize())
	if n > 0 {
		c := chunk{rows: slices.Clone(b.todo[b.next : b.next+n]), from: b.input.rows, round: b.round}
		for _, row := range c.rows {
			c.attempts = append(c.attempts, b.attempts[row])
		}
		return c, time.Time{}, true
	}
	if len(b.held) == 0 || !b.deletedAt.IsZero() {
		b.running = false
		return chunk{}, time.Time{}, false
	}
	return chunk{}, b.nextHeld(), true
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
func (s *Simulator) wait(d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-s.stop:
		return false
	case <-timer.C:
		return true
	}
}

// runChunk decides the outcomes outside the lock and commits them, unless a cancel or retry came between.
func (s *Simulator) runChunk(b *batch, c chunk) bool {
	ev := event{Kind: evRan, ID: b.ID, Ran: len(c.rows)}
	if len(c.rows) > 0 {
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
	faults := s.rowFaults(b)
	for i, n := range c.rows {
		line, err := rows.line(n)
		if err != nil {
			return err
		}
		row := parseRow(line)
		if b.failure(row, c.attempts[i]).kind != "" {
			ev.Failed = append(ev.Failed, n)
		}
		for _, f := range faults {
			if f.hitsRow(b, n, row.customID()) {
				ev.befall(f, n, c.round)
			}
		}
	}
	return nil
}

// befall notes what a fault does to a row that just ran.
func (ev *event) befall(f Fault, n uint32, round int) {
	switch f.Kind {
	case FaultLateRow:
		if round == 0 {
			ev.Holds = append(ev.Holds, hold{Row: n, Delay: f.Delay})
		}
	case FaultMissingRow:
		ev.Lost = append(ev.Lost, n)
	default:
	}
}

// commitLate commits held rows whose delay is over. The caller holds s.mu.
func (s *Simulator) commitLate(b *batch, now time.Time) error {
	var rows []uint32
	for _, h := range b.held {
		if !now.Before(h.due) {
			rows = append(rows, h.row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return s.commit(event{Kind: evLate, At: now, ID: b.ID, Rows: rows})
}
