package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Follow yields the results of a job as they come, from the given sequence on, in the order in which they were published, and ends once the job is
// completed and all of them were yielded. It blocks between them, through lost connections, and waits for a job that nobody has opened yet. It ends
// after the first error, that of an ended ctx included; to go on, call it again from behind the last sequence. A row that ends as a dead letter has no
// result (see [Client.DeadLetters]), and a job that is held (see [Client.Job]) waits for a person: give ctx a deadline.
func (c *Client) Follow(ctx context.Context, queue, job string, from uint64) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		if err := errors.Join(events.CheckName(queue), events.CheckName(job)); err != nil {
			yield(Result{}, fmt.Errorf("follow results: %w", err))
			return
		}
		if err := c.follow(ctx, queue, job, from, func(r Result) bool { return yield(r, nil) }); err != nil {
			yield(Result{}, fmt.Errorf("follow results of %s/%s: %w", queue, job, err))
		}
	}
}

// follow returns nil once the job is over or yield has had enough.
func (c *Client) follow(ctx context.Context, queue, job string, from uint64, yield func(Result) bool) error {
	hints, unsubscribe, err := c.hints(events.ResultsFilter(queue, job), events.EventSubject(events.JobDone, queue, job, ">"))
	if err != nil {
		return err
	}
	defer unsubscribe()
	for wait := lookInterval; ; {
		completed, err := c.completed(ctx, queue, job) // before the results are read, so that none of a completed job is missed
		if err != nil {
			return err
		}
		for result, err := range c.Results(ctx, queue, job, from) {
			if err != nil {
				return err
			}
			if !yield(result) {
				return nil
			}
			from = result.Sequence + 1
		}
		if completed {
			return nil
		}
		if wait, err = nextLook(ctx, hints, wait); err != nil {
			return err
		}
	}
}

// hints tells of messages on the subjects, of several at once perhaps one time only.
func (c *Client) hints(subjects ...string) (hints <-chan *nats.Msg, unsubscribe func(), err error) {
	heard := make(chan *nats.Msg, 1)
	var all []*nats.Subscription
	unsubscribe = func() {
		for _, s := range all {
			_ = s.Unsubscribe() // fails when the connection is closed, and then it is gone anyway
		}
	}
	for _, subject := range subjects {
		s, err := c.bus.JetStream().Conn().Subscribe(subject, func(m *nats.Msg) {
			select {
			case heard <- m:
			default: // a hint waits already
			}
		})
		if err != nil {
			unsubscribe()
			return nil, nil, fmt.Errorf("subscribe to %s: %w", subject, err)
		}
		all = append(all, s)
	}
	return heard, unsubscribe, nil
}

// completed tells whether the job is over. It is not while the bus does not answer or has no such job.
func (c *Client) completed(ctx context.Context, queue, job string) (bool, error) {
	entry, err := c.bus.Get(ctx, events.JobKey(queue, job))
	switch {
	case err == nil:
		state, err := events.ParseJob(entry.Value)
		return state.State == events.JobCompleted, err
	case errors.Is(err, jetstore.ErrNotFound), ctx.Err() == nil && jetstore.Classify(err) == jetstore.Again:
		return false, nil
	}
	return false, err
}
