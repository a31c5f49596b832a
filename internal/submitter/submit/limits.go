package submit

import (
	"sync"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// limitTTL is how long a limit is believed that a refusal told: providers raise limits, and one refused upload an hour tells it anew.
const limitTTL = time.Hour

// limit is the largest input file that an account takes; zeros are unknown.
type limit struct {
	rows  int
	bytes int64 // newlines counted
}

// refuses reports whether a file is known to be too large.
func (l limit) refuses(rows int, bytes int64) bool {
	return l.rows > 0 && rows > l.rows || l.bytes > 0 && bytes > l.bytes
}

// toldBy is the limit that a refused upload of b names. One that b keeps to explains nothing and is not believed. It is pure.
func toldBy(err error, b *events.Batch) (l limit) {
	if bytes, ok := doubleword.SizeLimitOf(err); ok && bytes < b.Bytes {
		l.bytes = bytes
	}
	if rows, ok := doubleword.RowLimitOf(err); ok && rows < b.Rows {
		l.rows = rows
	}
	return l
}

// limits are the limits that this process has been told, by API key name: at most one entry for each configured key. No state holds them, so
// another process, or this one after a restart, learns them by a refused upload of its own, which costs nothing but the upload.
type limits struct {
	mu    sync.Mutex
	byKey map[string]learned
}

type learned struct {
	limit
	until time.Time
}

func newLimits() *limits { return &limits{byKey: make(map[string]learned)} }

// learn remembers what a refusal told; nothing told changes nothing.
func (l *limits) learn(key string, told limit, now time.Time) {
	if told == (limit{}) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.byKey[key]
	if !now.Before(known.until) {
		known = learned{}
	}
	if told.rows > 0 {
		known.rows = told.rows
	}
	if told.bytes > 0 {
		known.bytes = told.bytes
	}
	known.until = now.Add(limitTTL)
	l.byKey[key] = known
}

// of is what is known of an account.
func (l *limits) of(key string, now time.Time) limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.byKey[key]; now.Before(known.until) {
		return known.limit
	}
	return limit{}
}
