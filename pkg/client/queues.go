package client

import (
	"context"
	"iter"

	"github.com/batchbus/batchbus/pkg/events"
)

// Queue returns the policy of a queue, which need not have a record.
func (c *Client) Queue(ctx context.Context, queue string) (events.QueueStatus, error) {
	return ask[events.QueueStatus](ctx, c, events.APIQueuesGet, events.GetQueue{Queue: queue}, answerTimeout)
}

// PutQueue replaces the record of a queue, and returns the queue as it is then. It is idempotent.
func (c *Client) PutQueue(ctx context.Context, q events.PutQueue) (events.QueueStatus, error) {
	return ask[events.QueueStatus](ctx, c, events.APIQueuesPut, q, answerTimeout)
}

// Queues yields the queues that have a record, those that changed longest ago first. One that changes meanwhile can come twice. It ends after
// the first error.
func (c *Client) Queues(ctx context.Context) iter.Seq2[events.QueueStatus, error] {
	return func(yield func(events.QueueStatus, error) bool) {
		for q := (events.ListQueues{}); ; {
			list, err := ask[events.QueueList](ctx, c, events.APIQueuesList, q, answerTimeout)
			if err != nil {
				yield(events.QueueStatus{}, err)
				return
			}
			for i := range list.Queues {
				if !yield(list.Queues[i], nil) {
					return
				}
			}
			if list.Next == 0 {
				return
			}
			q.After = list.Next
		}
	}
}

// Estimate says what rows may take before they are sent: those of a job that waits, or such as the request tells of. It reads the job's rows, which
// may take seconds.
func (c *Client) Estimate(ctx context.Context, q events.AskEstimate) (events.Estimated, error) {
	return ask[events.Estimated](ctx, c, events.APIEstimate, q, forgetTimeout)
}
