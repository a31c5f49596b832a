package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Times between two looks for an awaited result. What tells of one at once is a subscription, which a lost connection may silence.
const (
	firstLook    = 20 * time.Millisecond // after a hint, and doubled from there
	lookInterval = 15 * time.Second
)

// Await returns the one result of a row, its object resolved, as soon as it stands in the stream. It blocks until then, through lost connections,
// or until ctx ends. It is idempotent: a result is final, and is there for as long as the stream keeps it. A row that ends without a result,
// as a dead letter (see [Client.DeadLetters]), is awaited in vain, so give ctx a deadline.
func (c *Client) Await(ctx context.Context, queue, job, customID string) (Result, error) {
	result, err := c.await(ctx, queue, job, customID)
	if err != nil {
		return Result{}, fmt.Errorf("await result of %q in %s/%s: %w", customID, queue, job, err)
	}
	return result, nil
}

func (c *Client) await(ctx context.Context, queue, job, customID string) (Result, error) {
	if err := errors.Join(events.CheckName(queue), events.CheckName(job)); err != nil {
		return Result{}, err
	}
	subject := events.ResultSubject(queue, job, customID)
	hints := make(chan *nats.Msg, 1)
	subscription, err := c.bus.JetStream().Conn().ChanSubscribe(subject, hints)
	if err != nil {
		return Result{}, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	defer func() { _ = subscription.Unsubscribe() }() // fails when the connection is closed, and then it is gone anyway
	for wait := lookInterval; ; {
		for message, err := range c.read(ctx, jetstore.StreamResults, subject, 0) {
			if err != nil {
				return Result{}, err
			}
			return parseResult(&message)
		}
		if wait, err = nextLook(ctx, hints, wait); err != nil {
			return Result{}, err
		}
	}
}

// nextLook blocks until it is time to look again, and returns how long the next wait is. A message on the row's subject may come before the
// stream has stored it, or be one that the stream refuses: it means that it is worth some looks.
func nextLook(ctx context.Context, hints <-chan *nats.Msg, wait time.Duration) (time.Duration, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-timer.C:
		return min(2*wait, lookInterval), nil
	case <-hints:
		return firstLook, nil
	}
}
