package client

import (
	"context"
	"iter"

	"github.com/batchbus/batchbus/pkg/events"
)

// Batch returns one batch of a job.
func (c *Client) Batch(ctx context.Context, q events.GetBatch) (events.Batch, error) {
	return ask[events.Batch](ctx, c, events.APIBatchesGet, q, answerTimeout)
}

// Batches yields the batches that q asks for, those that changed longest ago first, from behind q.After on; q.Limit is how many come with one
// answer. One that changes meanwhile can come twice. It ends after the first error.
func (c *Client) Batches(ctx context.Context, q events.ListBatches) iter.Seq2[events.Batch, error] {
	return func(yield func(events.Batch, error) bool) {
		for {
			list, err := ask[events.BatchList](ctx, c, events.APIBatchesList, q, answerTimeout)
			if err != nil {
				yield(events.Batch{}, err)
				return
			}
			for i := range list.Batches {
				if !yield(list.Batches[i], nil) {
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

// PauseQueue keeps batches of a queue from being sent to the provider, and returns the queue as it is then. It is idempotent.
func (c *Client) PauseQueue(ctx context.Context, q events.PauseQueue) (events.QueueStatus, error) {
	return ask[events.QueueStatus](ctx, c, events.APIQueuesPause, q, answerTimeout)
}

// ResumeQueue ends the pause of a queue, and returns the queue as it is then, with other holds that it may have. It is idempotent.
func (c *Client) ResumeQueue(ctx context.Context, queue string) (events.QueueStatus, error) {
	return ask[events.QueueStatus](ctx, c, events.APIQueuesResume, events.GetQueue{Queue: queue}, answerTimeout)
}
