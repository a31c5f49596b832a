package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

const (
	// fullLook is how often a publisher looks for how long it has been refused.
	fullLook = 200 * time.Millisecond
	// sizeTimeout bounds the question how full the stream is.
	sizeTimeout = 2 * time.Second
)

// FullError is returned when the bus had no room for what was published within the client's full timeout. What was acknowledged before is
// stored, the rest is not; publishing all of it again is harmless.
type FullError struct {
	Stream string
	Waited time.Duration // without anything being taken
	Bytes  uint64        // that the stream holds; 0: unknown
	Limit  int64         // most bytes that it may hold; -1: no limit of its own, its server is full; 0: unknown
}

// Error names the stream and its limit.
func (e *FullError) Error() string {
	size := "its size is unknown"
	switch {
	case e.Limit > 0:
		size = fmt.Sprintf("%d of %d bytes", e.Bytes, e.Limit)
	case e.Limit < 0:
		size = fmt.Sprintf("%d bytes and no limit of its own: the server has no room", e.Bytes)
	}
	return fmt.Sprintf("%s is full (%s): nothing was taken for %s", e.Stream, size, e.Waited.Round(time.Second))
}

// giveUp is ctx, ended with a [*FullError] as its cause when the bus takes nothing for too long. Call stop in the end.
func (c *Client) giveUp(ctx context.Context) (_ context.Context, stop func()) {
	if c.fullTimeout <= 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.watch(ctx, cancel)
	}()
	return ctx, func() { cancel(nil); <-ended }
}

// watch looks until ctx ends, which it may bring about.
func (c *Client) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	begun := time.Now()
	tick := time.NewTicker(min(fullLook, c.fullTimeout))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, full := range c.bus.FullStreams() {
			if waited := refused(full, begun); waited >= c.fullTimeout {
				cancel(c.measure(ctx, &FullError{Stream: full.Stream, Waited: waited}))
				return
			}
		}
	}
}

// refused is for how long a stream that publishers write to has refused everything since they began.
func refused(full jetstore.Full, begun time.Time) time.Duration {
	if full.Stream != jetstore.StreamRequests && full.Stream != jetstore.StreamObjects || full.LastAt.Before(begun) {
		return 0
	}
	if full.SinceAt.After(begun) {
		begun = full.SinceAt
	}
	return time.Since(begun)
}

// measure adds the size of the stream, if the bus tells it.
func (c *Client) measure(ctx context.Context, e *FullError) *FullError {
	ctx, cancel := context.WithTimeout(ctx, sizeTimeout)
	defer cancel()
	if bytes, limit, err := c.bus.Size(ctx, e.Stream); err == nil {
		e.Bytes, e.Limit = bytes, limit
	}
	return e
}

// reason is the [*FullError] that ended ctx, or else err.
func reason(ctx context.Context, err error) error {
	if full, ok := errors.AsType[*FullError](context.Cause(ctx)); ok && err != nil {
		return full
	}
	return err
}
