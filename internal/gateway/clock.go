package gateway

import (
	"context"
	"sync"
	"time"
)

// clockInterval is how often the clock is compared with the bus'.
const clockInterval = time.Minute

// clock is the bus' time as this replica knows it. A row belongs to a rolling job of the bus' time, and one that is chosen by a clock that is late
// would find its job sealed. It is safe for concurrent use.
type clock struct {
	mu      sync.Mutex
	offset  time.Duration
	checkAt time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

// due tells whether it is time to compare, once an interval.
func (c *clock) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.checkAt) {
		return false
	}
	c.checkAt = time.Now().Add(clockInterval)
	return true
}

// atLeast learns that the bus' time is this or later.
func (c *clock) atLeast(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = max(c.offset, time.Until(at))
}

// compare learns from a message that the bus stored just now how far the clocks are apart.
func (c *clock) compare(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = time.Until(at)
}

// checkClock compares the clock with the time of a record that was just stored, when that is due.
func (s *Service) checkClock(ctx context.Context, c *call) {
	if !s.clock.due() {
		return
	}
	if entry, err := s.cfg.Bus.Call(ctx, keyOfCall(c.group, c.id)); err == nil && entry.Revision == c.revision {
		s.clock.compare(entry.At)
	}
}
