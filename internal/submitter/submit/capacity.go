package submit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

var errNoCapacity = errors.New("the provider has said that the model has no capacity for so many rows in this window")

// fullModel is what a 429 for want of capacity is about.
type fullModel struct{ key, window, model string }

func fullModelOf(b *events.Batch) fullModel { return fullModel{b.Key, b.Window, b.Model} }

// capacity is what this process has been told of models without capacity. The provider weighs the rows of a file (doubleword-contract.md 5.1),
// so a batch with as many rows or more would be refused as well, and waits unsent; a smaller one may fit, and is tried. Another process learns
// it by a refusal of its own. It is safe for concurrent use.
type capacity struct {
	mu   sync.Mutex
	full map[fullModel]fullUntil
}

type fullUntil struct {
	rows  int // of the smallest batch that was refused
	until time.Time
}

func newCapacity() *capacity { return &capacity{full: make(map[fullModel]fullUntil)} }

// refused takes note of a batch that was, and is tried again after the delay.
func (c *capacity) refused(b *events.Batch, delay time.Duration, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, rows := c.full[fullModelOf(b)], b.Rows
	if now.Before(known.until) {
		rows = min(rows, known.rows)
	}
	c.full[fullModelOf(b)] = fullUntil{rows: rows, until: now.Add(delay)}
}

// taken takes note of a batch that was not refused.
func (c *capacity) taken(b *events.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.Rows >= c.full[fullModelOf(b)].rows {
		delete(c.full, fullModelOf(b))
	}
}

// wait is how long b is not worth being sent; 0 when it is.
func (c *capacity) wait(b *events.Batch, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.full[fullModelOf(b)]
	if ok && !now.Before(known.until) {
		delete(c.full, fullModelOf(b))
		return 0
	}
	if !ok || b.Rows < known.rows {
		return 0
	}
	return known.until.Sub(now)
}

// sendable carries out send, an upload or a create, unless the batch waits for capacity, visibly.
func (d *drive) sendable(ctx context.Context, send func(context.Context) (step, error)) (step, error) {
	delay := d.capacity.wait(&d.batch.Batch, time.Now())
	if delay <= 0 {
		return send(ctx)
	}
	next := step{delay: delay, why: whyCapacity}
	if at := d.batch.NextTryAt; d.batch.Why == whyCapacity && at != nil && at.After(time.Now()) {
		return next, nil
	}
	cause := fmt.Errorf("%w: another batch of %s was refused", errNoCapacity, d.batch.Model)
	return next, d.note(ctx, d.waiting(whyCapacity, cause, delay))
}
