package messages

import (
	"context"
	"fmt"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Results is where results stand; a [jetstore.Store] is one.
type Results interface {
	Last(ctx context.Context, stream, subject string) (jetstore.Message, error)
}

// Standing reads the result that stands on a subject, by the word of the stream's leader. Who meets one there when it publishes its own counts
// that one: the two can differ, as when a provider refuses a row, the process dies before it could write that down, and the provider takes the
// row the next time. A result whose whole is in an object comes without its response. [jetstore.ErrNotFound]: none stands there any more.
func Standing(ctx context.Context, results Results, subject string) (events.Result, error) {
	m, err := results.Last(ctx, jetstore.StreamResults, subject)
	if err != nil {
		return events.Result{}, fmt.Errorf("read standing result: %w", err)
	}
	return events.ParseResult(m.Data)
}
