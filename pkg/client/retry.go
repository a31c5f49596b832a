package client

import (
	"context"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// retryPatience is how long a replica is waited for that reads and publishes many rows.
const retryPatience = time.Minute

// RetryJob sends rows of a completed job once more, in a job of their own, and returns once all of them are published and that job is sealed. It is
// idempotent; after an error some rows may be published: ask again for the same.
func (c *Client) RetryJob(ctx context.Context, q events.RetryJob) (events.Retried, error) {
	for left := 0; ; {
		answer, err := askPatiently[events.Retried](ctx, c, events.APIJobsRetry, q, forgetTimeout, retryPatience)
		left += answer.LeftOut
		answer.LeftOut = left
		if err != nil || answer.Next == 0 {
			return answer, err
		}
		q.To, q.After, q.Rows = answer.Job, answer.Next, answer.Rows
	}
}
