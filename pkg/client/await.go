package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
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

// AnyJob in the place of a job's name means whichever job of the queue holds the row: the way to a row that was published to its queue alone,
// and belongs to a rolling job that its publisher does not know.
const AnyJob = ""

// Await returns the one result of a row, its object resolved, as soon as it stands in the stream. It blocks until then, through lost connections,
// or until ctx ends. It is idempotent: a result is final, and is there for as long as the stream keeps it. A row that ends without a result,
// as a dead letter (see [Client.DeadLetters]), is awaited in vain, so give ctx a deadline.
//
// With [AnyJob] it is the oldest result that the queue has of the custom_id; [Client.AwaitRow] leaves out older ones.
func (c *Client) Await(ctx context.Context, queue, job, customID string) (Result, error) {
	return c.awaited(ctx, queue, job, customID, time.Time{})
}

// AwaitRow returns the first result of a row of the queue, of whichever job, that was stored at since or later, by the bus' clock; in all else it
// is [Client.Await]. A custom_id is unique in its job only, so a program that uses one again names the time before it published the row, less
// what its clock and the bus' may differ. A zero since means that any result will do.
func (c *Client) AwaitRow(ctx context.Context, queue, customID string, since time.Time) (Result, error) {
	return c.awaited(ctx, queue, AnyJob, customID, since)
}

// RowResults yields the results that the queue has of a custom_id now, the oldest first: one of a job, and with [AnyJob] one of each job that holds
// such a row. It ends after the first error.
func (c *Client) RowResults(ctx context.Context, queue, job, customID string) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		subject, err := rowSubject(queue, job, customID)
		if err != nil {
			yield(Result{}, err)
			return
		}
		for message, err := range c.read(ctx, jetstore.StreamResults, subject, 0) {
			var result Result
			if err == nil {
				result, err = parseResult(&message)
			}
			if !yield(result, err) || err != nil {
				return
			}
		}
	}
}

// rowSubject is where the results of a row stand.
func rowSubject(queue, job, customID string) (string, error) {
	if job == AnyJob {
		return events.ResultSubject(queue, "*", customID), events.CheckName(queue)
	}
	return events.ResultSubject(queue, job, customID), errors.Join(events.CheckName(queue), events.CheckName(job))
}

func (c *Client) awaited(ctx context.Context, queue, job, customID string, since time.Time) (Result, error) {
	result, err := c.await(ctx, queue, job, customID, since)
	if err != nil {
		return Result{}, fmt.Errorf("await result of %q in %s/%s: %w", customID, queue, cmp.Or(job, "*"), err)
	}
	return result, nil
}

func (c *Client) await(ctx context.Context, queue, job, customID string, since time.Time) (Result, error) {
	subject, err := rowSubject(queue, job, customID)
	if err != nil {
		return Result{}, err
	}
	hints := make(chan *nats.Msg, 1)
	subscription, err := c.bus.JetStream().Conn().ChanSubscribe(subject, hints)
	if err != nil {
		return Result{}, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	defer func() { _ = subscription.Unsubscribe() }() // fails when the connection is closed, and then it is gone anyway
	for wait, from := lookInterval, uint64(0); ; {
		for message, err := range c.bus.Read(ctx, jetstore.StreamResults, subject, from) {
			if err != nil {
				return Result{}, err
			}
			if from = message.Sequence + 1; message.At.Before(since) {
				continue
			}
			if message.Data, err = c.payload(ctx, &message); err != nil {
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
