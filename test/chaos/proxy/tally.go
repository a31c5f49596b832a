package proxy

import (
	"maps"
	"sync"
)

// Tally counts what happened, by kind. The zero value is usable, and it is safe for concurrent use.
type Tally struct {
	mu     sync.Mutex
	counts map[string]int
}

// Add counts one more of a kind.
func (t *Tally) Add(kind string) { t.AddN(kind, 1) }

// AddN counts n more of a kind.
func (t *Tally) AddN(kind string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[kind] += n
}

// Counts is a copy of all counts.
func (t *Tally) Counts() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.counts)
}
