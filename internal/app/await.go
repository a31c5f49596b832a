package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

const (
	// forever is the ConnectTimeout of who waits for the bus as long as it takes.
	forever = time.Duration(math.MaxInt64)
	// firstDialPause doubles with each try up to lastDialPause: a bus that comes back is found within seconds, and one that does not is not
	// flooded by many services.
	firstDialPause = 250 * time.Millisecond
	lastDialPause  = 5 * time.Second
	// reminderInterval is how often the log says that the bus is still waited for.
	reminderInterval = time.Minute
)

// await is [connect], again and again while the bus is away, for at most ConnectTimeout. Meanwhile /readyz and the log say what is waited
// for. The error is a fault that no waiting ends, the last reason when the time is over, or ctx's.
func await(ctx context.Context, o *Options, m *monitor, name string, first bool) (*deps, error) {
	begun, told := time.Now(), time.Time{}
	for pause := firstDialPause; ; pause = min(2*pause, lastDialPause) {
		d, err := connect(ctx, o, m, name, first)
		if err == nil {
			m.health.Await(nil)
			if !told.IsZero() {
				o.Log.Warn().Str("service", name).Dur("waited", time.Since(begun)).Msg("the bus is there")
			}
			return d, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		waited := time.Since(begun)
		if !isAway(err) || waited >= o.ConnectTimeout {
			return nil, err
		}
		m.health.Await(fmt.Errorf("waiting for the bus since %s: %w", begun.UTC().Format(time.RFC3339), err))
		if time.Since(told) >= reminderInterval {
			told = time.Now()
			o.Log.Warn().Err(err).Str("service", name).Dur("waited", waited).Msg("the bus is away: waiting for it")
		}
		rest(ctx, min(pause, o.ConnectTimeout-waited))
	}
}

// rest waits, or until ctx ends.
func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// isAway tells a bus that cannot be reached, or does not answer for JetStream, from one that says no: refused credentials, missing rights, a
// certificate that is not trusted and another topology do not pass by waiting.
func isAway(err error) bool {
	causes := []error{
		nats.ErrNoServers, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionClosed, nats.ErrStaleConnection,
		nats.ErrReconnectBufExceeded, jetstream.ErrNoStreamResponse, jetstore.ErrNoJetStream, context.DeadlineExceeded, io.EOF,
	}
	if slices.ContainsFunc(causes, func(cause error) bool { return errors.Is(err, cause) }) {
		return true
	}
	var socket *net.OpError
	var name *net.DNSError
	return errors.As(err, &socket) || errors.As(err, &name)
}
