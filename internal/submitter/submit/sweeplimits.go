package submit

import (
	"context"
	"errors"
	"fmt"

	"github.com/batchbus/batchbus/internal/budget"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
)

// sweepLimits tells, in one sweep, which batches their limits still hold, so that a queue whose day is spent costs one look at its policy and
// not one at each of its batches. What a sweep sees may be a moment old: the drive decides.
type sweepLimits struct {
	*Submitter
	held   heldQueues
	open   openJobs
	bounds map[string]*events.Limits // by queue; nil: its policy cannot be read
}

// keep reports whether a batch that a limit holds is to stay so.
func (s *sweepLimits) keep(ctx context.Context, b *events.Batch) (bool, error) {
	bounds, err := s.of(ctx, b.Queue)
	job, known := s.open[events.JobKey(b.Queue, b.Job)]
	if err != nil || !known || bounds == nil {
		return true, err
	}
	queue := s.held[b.Queue]
	if b.Estimate == nil || queue.Spending == nil {
		return false, nil
	}
	c := caseOf(b, &job.spends, &queue, *bounds, s.config.Prices, b.Estimate)
	verdict := budget.Check(&c)
	return !verdict.OK() && isTold(b, &verdict), nil
}

func (s *sweepLimits) of(ctx context.Context, queue string) (*events.Limits, error) {
	if bounds, known := s.bounds[queue]; known {
		return bounds, nil
	}
	if s.bounds == nil {
		s.bounds = make(map[string]*events.Limits)
	}
	bounds := &events.Limits{}
	if s.config.Policy != nil {
		policy, err := s.config.Policy(ctx, queue)
		switch {
		case errors.Is(err, queues.ErrRecord):
			bounds = nil
		case err != nil:
			return nil, fmt.Errorf("read limits: %w", err)
		default:
			*bounds = policy.Budget
		}
	}
	s.bounds[queue] = bounds
	return bounds, nil
}
