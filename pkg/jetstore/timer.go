package jetstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// SetTick makes a message appear on batchbus.timers.due.<name> again and again, the first after one interval; the interval
// is whole seconds, at least one. A tick that nobody took is replaced by the next one. Setting the same interval again
// changes nothing, so that many may call it at any time; another interval replaces the old one. After an error the old
// schedule or the new one stands. Name is one subject token. [ConsumerPoller] takes the ticks.
func (s *Store) SetTick(ctx context.Context, name string, every time.Duration) error {
	if every < time.Second || every%time.Second != 0 {
		return fmt.Errorf("set tick %s: %s is not a whole number of seconds", name, every)
	}
	m := &nats.Msg{Subject: tickSet + name, Header: nats.Header{}}
	m.Header.Set(jetstream.ScheduleHeader, "@every "+every.String())
	m.Header.Set(jetstream.ScheduleTargetHeader, tickDue+name)
	have, err := s.Last(ctx, StreamTimers, m.Subject)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("set tick %s: %w", name, err)
	}
	if err == nil && have.Header.Get(jetstream.ScheduleHeader) == m.Header.Get(jetstream.ScheduleHeader) {
		return nil // publishing it again would put the next tick off
	}
	if _, err := s.Publish(ctx, m); err != nil {
		return fmt.Errorf("set tick %s: %w", name, err)
	}
	return nil
}

// ClearTick ends a tick. It is idempotent. After an error the tick may go on.
func (s *Store) ClearTick(ctx context.Context, name string) error {
	return s.Purge(ctx, StreamTimers, tickSet+name, 0)
}
