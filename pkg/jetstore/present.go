package jetstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Present returns a [*DriftError] that names every one of the streams that is not there. It looks at nothing of those that are, and repeats nothing.
func Present(ctx context.Context, js jetstream.JetStream, streams ...string) error {
	var drift []Difference
	for _, name := range streams {
		_, err := js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			drift = append(drift, missing(name)...)
		case err != nil:
			return fmt.Errorf("look for stream %s: %w", name, explain(err))
		}
	}
	if len(drift) > 0 {
		return &DriftError{Differences: drift}
	}
	return nil
}
