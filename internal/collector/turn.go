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

// waiting is a provider whose caller leaves its worker when an answer takes long.
type waiting struct {
	Provider
	turn turn
}

// Content implements [Provider].
func (w waiting) Content(ctx context.Context, fileID string, q doubleword.ContentQuery) (*doubleword.Content, error) {
	defer w.turn.watch()()
	return w.body(w.Provider.Content(ctx, fileID, q))
}

// Results implements [Provider].
func (w waiting) Results(ctx context.Context, batchID string, q doubleword.ContentQuery) (*doubleword.Content, error) {
	defer w.turn.watch()()
	return w.body(w.Provider.Results(ctx, batchID, q))
}

// Batch implements [Provider].
func (w waiting) Batch(ctx context.Context, id string) (doubleword.Batch, error) {
	defer w.turn.watch()()
	return w.Provider.Batch(ctx, id)
}

// Analytics implements [Provider].
func (w waiting) Analytics(ctx context.Context, batchID string) (doubleword.Analytics, error) {
	defer w.turn.watch()()
	return w.Provider.Analytics(ctx, batchID)
}

func (w waiting) body(content *doubleword.Content, err error) (*doubleword.Content, error) {
	if err == nil {
		content.Body = waitingBody{ReadCloser: content.Body, turn: w.turn}
	}
	return content, err
}

// waitingBody is the body of such a provider's answer.
type waitingBody struct {
	io.ReadCloser
	turn turn
}

// Read implements io.Reader.
func (b waitingBody) Read(p []byte) (int, error) {
	defer b.turn.watch()()
	return b.ReadCloser.Read(p) //nolint:wrapcheck // it is the provider's, and io.EOF must stay what it is
}
