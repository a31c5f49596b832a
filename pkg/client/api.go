package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/batchbus/batchbus/pkg/events"
)

// ErrNoAPI is returned when nobody on the bus answers for batchbus.
var ErrNoAPI = errors.New("nobody on this bus answers for batchbus: neither ingest nor submitter runs there")

const (
	// answerTimeout is how long an answer is waited for: longer than a replica works on a request.
	answerTimeout = 30 * time.Second
	// forgetTimeout is the same for a request that deletes, or changes many states.
	forgetTimeout = 10 * answerTimeout
	// absenceTimeout is how long a replica is waited for that may be starting; between two looks absencePause passes.
	absenceTimeout = 3 * time.Second
	absencePause   = 100 * time.Millisecond
	// firstTry is how long a first replica is waited for before another one is asked; each further one gets twice as long.
	firstTry = 3 * time.Second
)

// OpenJob opens a job with options, or returns it as it is when it is there. Its errors, like those of all calls of the control API, are
// an [*events.APIError] when batchbus refuses, [ErrNoAPI] when nobody is there, and else those of the connection: then it is done or not,
// and may be asked again.
func (c *Client) OpenJob(ctx context.Context, q events.OpenJob) (events.JobStatus, error) {
	return ask[events.JobStatus](ctx, c, events.APIJobsOpen, q, answerTimeout)
}

// SealJob seals a job that is there, and returns it as it was before. It is idempotent.
func (c *Client) SealJob(ctx context.Context, q events.SealJob) (events.JobStatus, error) {
	return ask[events.JobStatus](ctx, c, events.APIJobsSeal, q, answerTimeout)
}

// CancelJob cancels a job that is there, and returns it as it was before. It is idempotent.
func (c *Client) CancelJob(ctx context.Context, q events.JobRef) (events.JobStatus, error) {
	return ask[events.JobStatus](ctx, c, events.APIJobsCancel, q, answerTimeout)
}

// ForgetJob removes what the bus holds of a completed job and returns what the provider has of it. It is idempotent.
func (c *Client) ForgetJob(ctx context.Context, q events.JobRef) (events.Forgotten, error) {
	return ask[events.Forgotten](ctx, c, events.APIJobsForget, q, forgetTimeout)
}

// AdoptBatch asks for a held batch to follow the provider's batch that q names, or the only one there is, and returns it as it is now: the
// submitter sees to the wish in it. It is idempotent until that is done.
func (c *Client) AdoptBatch(ctx context.Context, q events.EndHold) (events.Batch, error) {
	return ask[events.Batch](ctx, c, events.APIBatchesAdopt, q, answerTimeout)
}

// AbandonBatch asks for whatever the provider has of a held batch to be stopped and for its rows to be planned anew, and returns the batch as it
// is now: the submitter sees to the wish in it. It is idempotent until that is done.
func (c *Client) AbandonBatch(ctx context.Context, q events.EndHold) (events.Batch, error) {
	return ask[events.Batch](ctx, c, events.APIBatchesAbandon, q, answerTimeout)
}

// ResumeBatch ends the hold of one batch whose cause is gone, and returns the batch as it is now. One that is held for the same reason again
// was resumed too early.
func (c *Client) ResumeBatch(ctx context.Context, q events.EndHold) (events.Batch, error) {
	return ask[events.Batch](ctx, c, events.APIBatchesResume, q, answerTimeout)
}

// ResumeJobs ends the holds of a job and its batches, or of one code in a queue, and returns what became of all that were found. After an
// error some of them have ended; it may be asked again.
func (c *Client) ResumeJobs(ctx context.Context, q events.ResumeJobs) ([]events.ResumedHold, error) {
	var holds []events.ResumedHold
	for {
		page, err := ask[events.Resumed](ctx, c, events.APIJobsResume, q, forgetTimeout)
		holds = append(holds, page.Holds...)
		if err != nil || !page.More {
			return holds, err
		}
	}
}

// Job returns a job with all its batches.
func (c *Client) Job(ctx context.Context, q events.JobRef) (events.JobStatus, error) {
	status, err := ask[events.JobStatus](ctx, c, events.APIJobsGet, events.GetJob{JobRef: q}, answerTimeout)
	for err == nil && status.More {
		after := status.Batches[len(status.Batches)-1].N
		var next events.JobStatus
		next, err = ask[events.JobStatus](ctx, c, events.APIJobsGet, events.GetJob{JobRef: q, After: after}, answerTimeout)
		status.Batches, status.More = append(status.Batches, next.Batches...), next.More && len(next.Batches) > 0
	}
	return status, err
}

// Jobs yields the jobs of a queue, of all queues when it is empty, those that changed longest ago first. One that changes meanwhile can
// come twice. It ends after the first error.
func (c *Client) Jobs(ctx context.Context, queue string) iter.Seq2[events.JobStatus, error] {
	return func(yield func(events.JobStatus, error) bool) {
		for q := (events.ListJobs{Queue: queue}); ; {
			list, err := ask[events.JobList](ctx, c, events.APIJobsList, q, answerTimeout)
			if err != nil {
				yield(events.JobStatus{}, err)
				return
			}
			for i := range list.Jobs {
				if !yield(list.Jobs[i], nil) {
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

// ask asks an endpoint. All of them may be asked again, so a replica that does not answer, frozen perhaps, costs seconds: the next try most
// likely meets another one.
func ask[A, Q events.APIPayload](ctx context.Context, c *Client, endpoint string, q Q, timeout time.Duration) (none A, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request := &nats.Msg{Subject: events.APISubject(endpoint), Data: events.EncodeAPI(q)}
	answer, err := c.present(ctx, request)
	if err != nil {
		return none, fmt.Errorf("ask %s: %w", endpoint, err)
	}
	if answer.Header.Get(micro.ErrorCodeHeader) == "" {
		return events.ParseAPI[A](answer.Data)
	}
	refused, err := events.ParseAPI[events.APIError](answer.Data)
	if err != nil {
		return none, err
	}
	return none, &refused
}

// present sends a request, again and again for a while when nobody listens.
func (c *Client) present(ctx context.Context, request *nats.Msg) (*nats.Msg, error) {
	patience := firstTry
	for end := time.Now().Add(absenceTimeout); ; {
		answer, err := c.try(ctx, request, patience)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			patience *= 2
			continue
		}
		if !errors.Is(err, nats.ErrNoResponders) {
			return answer, err
		}
		if time.Now().After(end) {
			return nil, ErrNoAPI
		}
		pause := time.NewTimer(absencePause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, ErrNoAPI
		case <-pause.C:
		}
	}
}

// try sends a request once, and waits so long at most.
func (c *Client) try(ctx context.Context, request *nats.Msg, patience time.Duration) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.bus.JetStream().Conn().RequestMsgWithContext(ctx, request) //nolint:wrapcheck // its caller says what was asked
}
