package client

import (
	"context"

	"github.com/batchbus/batchbus/pkg/events"
)

// RetryJob sends rows of a completed job once more, in a job of their own, and returns once all of them are published and that job is sealed. It is
// idempotent; after an error some rows may be published: ask again for the same.
func (c *Client) RetryJob(ctx context.Context, q events.RetryJob) (events.Retried, error) {
	for left := 0; ; {
		answer, err := ask[events.Retried](ctx, c, events.APIJobsRetry, q, forgetTimeout)
		left += answer.LeftOut
		answer.LeftOut = left
		if err != nil || answer.Next == 0 {
			return answer, err
		}
		q.To, q.After, q.Rows = answer.Job, answer.Next, answer.Rows
	}
}
