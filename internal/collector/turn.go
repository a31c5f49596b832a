package collector

import (
	"context"
	"io"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// leaveAfter is how long an answer of the provider is waited for until the worker is another batch's. Batches whose reads hang thus hold up no
// other, and an answer that comes at once costs nothing.
const leaveAfter = time.Second

// turn is one batch's turn with a worker.
type turn struct {
	stop  <-chan struct{} // closed when the service stops
	leave func()          // gives the worker to another batch, while this one goes on. It is idempotent
}

func (t turn) stopped() bool { return stopped(t.stop) }

// watch begins a wait for the provider, which the returned function ends.
func (t turn) watch() (over func()) {
	if t.leave == nil {
		return func() {}
	}
	timer := time.AfterFunc(leaveAfter, t.leave)
	return func() { timer.Stop() }
}

// waiting is a provider whose caller leaves its worker when an answer takes long, and says so.
type waiting struct {
	Provider
	turn turn
	slow func(context.Context) // is called again and again while an answer does not come
}

// waitFor waits for an answer.
func waitFor[T any](ctx context.Context, w waiting, call func() (T, error)) (T, error) {
	defer w.turn.watch()()
	return await(func() { w.slow(ctx) }, call)
}

// Content implements [Provider].
func (w waiting) Content(ctx context.Context, fileID string, q doubleword.ContentQuery) (*doubleword.Content, error) {
	content, err := waitFor(ctx, w, func() (*doubleword.Content, error) { return w.Provider.Content(ctx, fileID, q) })
	return w.body(ctx, content, err)
}

// Results implements [Provider].
func (w waiting) Results(ctx context.Context, batchID string, q doubleword.ContentQuery) (*doubleword.Content, error) {
	content, err := waitFor(ctx, w, func() (*doubleword.Content, error) { return w.Provider.Results(ctx, batchID, q) })
	return w.body(ctx, content, err)
}

// Batch implements [Provider].
func (w waiting) Batch(ctx context.Context, id string) (doubleword.Batch, error) {
	return waitFor(ctx, w, func() (doubleword.Batch, error) { return w.Provider.Batch(ctx, id) })
}

// Analytics implements [Provider].
func (w waiting) Analytics(ctx context.Context, batchID string) (doubleword.Analytics, error) {
	return waitFor(ctx, w, func() (doubleword.Analytics, error) { return w.Provider.Analytics(ctx, batchID) })
}

func (w waiting) body(ctx context.Context, content *doubleword.Content, err error) (*doubleword.Content, error) {
	if err == nil {
		content.Body = waitingBody{ReadCloser: content.Body, read: func(read func() (int, error)) (int, error) { return waitFor(ctx, w, read) }}
	}
	return content, err
}

// waitingBody is the body of such a provider's answer.
type waitingBody struct {
	io.ReadCloser
	read func(read func() (int, error)) (int, error)
}

// Read implements io.Reader. Its errors are the provider's: io.EOF must stay what it is.
func (b waitingBody) Read(p []byte) (int, error) {
	return b.read(func() (int, error) { return b.ReadCloser.Read(p) })
}
