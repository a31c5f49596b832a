package doubleword

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// watchdog cancels a transfer that stands still. It is running after newWatchdog.
type watchdog struct {
	timer *time.Timer
	idle  time.Duration
}

// newWatchdog returns a context that is cancelled with ErrIdle when the watchdog is neither touched nor paused for idle.
func newWatchdog(ctx context.Context, idle time.Duration) (context.Context, *watchdog, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(idle, func() { cancel(ErrIdle) })
	return ctx, &watchdog{timer: timer, idle: idle}, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}

func (w *watchdog) touch() { w.timer.Reset(w.idle) }

func (w *watchdog) pause() { w.timer.Stop() }

// leastMoved is how many bytes a download must bring within the idle timeout of waiting for it: one byte now and then is no progress, and would
// hold its reader for weeks. A kibibyte is about an answer; a connection on its last legs brings more.
const leastMoved = 1 << 10

// idleBody is an answer's body under a watchdog that runs only while a read waits for the provider: a slow consumer is not an idle
// transfer.
type idleBody struct {
	body  io.ReadCloser
	dog   *watchdog
	place *place
	stop  func() // ends the request, and gives back its place in the budget
	wrap  func(error) error
	ended error

	moved  int           // bytes since the wait below began
	waited time.Duration // for them
}

// Read returns io.EOF only where the provider ended the body.
func (b *idleBody) Read(p []byte) (int, error) {
	if b.ended != nil {
		return 0, b.ended
	}
	begin := time.Now()
	b.dog.timer.Reset(max(0, b.dog.idle-b.waited))
	b.place.waits(true)
	n, err := b.body.Read(p)
	b.place.waits(false)
	b.dog.pause()
	b.waited += time.Since(begin)
	if b.moved += n; b.moved >= leastMoved {
		b.moved, b.waited = 0, 0
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.wrap(err)
	}
	b.ended = err
	return n, err
}

// Close ends the transfer; what was not read is lost with its connection.
func (b *idleBody) Close() error {
	b.stop()
	if err := b.body.Close(); err != nil {
		return fmt.Errorf("close content: %w", err)
	}
	return nil
}
