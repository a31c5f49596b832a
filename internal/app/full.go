package app

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

// tellFull logs when a stream begins to refuse a service's messages for want of room, and when it takes them again.
func tellFull(log zerolog.Logger) func(full jetstore.Full, ended bool) {
	return func(full jetstore.Full, ended bool) {
		entry := log.Warn().Str("stream", full.Stream)
		if ended {
			entry.Dur("waited", time.Since(full.SinceAt)).Msg("stream takes messages again")
			return
		}
		entry.Msg("stream is full: what goes there waits until there is room, see docs/operations.md")
	}
}
