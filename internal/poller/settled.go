package poller

import (
	"sync"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// settledInterval is how often the list of a key is read for batches that have ended here, when no live one asks for it: somebody may have had the
// provider run one again, which costs money that nobody here would see. A list an hour costs next to nothing, and what has run again and
// ended within an hour was small.
const settledInterval = time.Hour

// isWatched reports whether b has ended so lately that the provider's list is looked at for it.
func isWatched(b *events.Batch, now time.Time) bool {
	return b.State.Ended() && b.ProviderBatchID != "" && b.SubmittedAt != nil && now.Sub(b.SinceAt) < strangeFor
}

// lists remembers what this process found of the list of each key, and when. It is safe for concurrent use.
type lists struct {
	mu   sync.Mutex
	last map[string]time.Time
	// endless is when a key's list was last found to have no end.
	endless map[string]time.Time
}

// hadNoEnd takes note of a list that went on and on.
func (l *lists) hadNoEnd(key string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.endless == nil {
		l.endless = make(map[string]time.Time)
	}
	l.endless[key] = now
}

// isEndless reports whether the key's list had no end less than rest ago.
func (l *lists) isEndless(key string, now time.Time, rest time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.endless[key]
	return ok && now.Sub(at) < rest
}

// read takes note of a list.
func (l *lists) read(key string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = make(map[string]time.Time)
	}
	l.last[key] = now
}

// old reports whether the last list is longer ago than the interval, or there was none.
func (l *lists) old(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.last[key]) >= settledInterval
}
