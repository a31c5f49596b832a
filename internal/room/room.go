package room

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

const (
	// lookInterval is how long one look at the size of ROWS holds.
	lookInterval = 3 * time.Second
	// maxFullPercent is the share of ROWS above which no new jobs are opened (design.md 5.2).
	maxFullPercent = 80
)

// Room watches how full ROWS is. It is safe for concurrent use.
type Room struct {
	size func(context.Context) (used uint64, limit int64, err error)
	log  zerolog.Logger

	mu       sync.Mutex
	lookedAt time.Time
	isFull   bool
}

// New returns a watch over the rows stream of bus. It asks the bus nothing. What changes is said in log.
func New(bus *jetstore.Store, log zerolog.Logger) *Room { return &Room{size: rowsSize(bus), log: log} }

// Full reports whether new jobs have to wait. It blocks for a round trip at most every 3 s; without an answer the last one holds.
func (r *Room) Full(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lookedAt.IsZero() && time.Since(r.lookedAt) < lookInterval {
		return r.isFull
	}
	used, limit, err := r.size(ctx)
	if err != nil {
		r.log.Warn().Err(err).Msg("size of the rows stream is unknown")
		return r.isFull
	}
	r.lookedAt = time.Now()
	full := nearlyFull(used, limit)
	if full != r.isFull {
		r.log.Warn().Bool("full", full).Uint64("used", used).Int64("limit", limit).Msg("rows stream: " + roomText(full))
	}
	r.isFull = full
	return full
}

func roomText(full bool) string {
	if full {
		return "above 80 %, no new jobs are opened"
	}
	return "new jobs are opened again"
}

// nearlyFull is the decision alone. A stream without a limit (-1) is never full.
func nearlyFull(used uint64, limit int64) bool {
	return limit > 0 && used > uint64(limit)/100*maxFullPercent
}

// rowsSize asks the server.
func rowsSize(bus *jetstore.Store) func(context.Context) (uint64, int64, error) {
	return func(ctx context.Context) (uint64, int64, error) {
		stream, err := bus.JetStream().Stream(ctx, jetstore.StreamRows)
		if err != nil {
			return 0, 0, fmt.Errorf("look at %s: %w", jetstore.StreamRows, err)
		}
		info := stream.CachedInfo()
		return info.State.Bytes, info.Config.MaxBytes, nil
	}
}
