package api

import (
	"context"
	"fmt"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// queueWay says how a queue's own hold ends.
func queueWay(queue string) string { return "it ends by batchbus resume --queue " + queue }

// unpause says how a pause ends.
func unpause(queue string) string {
	return "a person has paused the queue: it ends by batchbus queues resume " + queue
}

// wayOf says how one of a queue's holds ends.
func wayOf(queue, code string) string {
	if code == events.HoldPaused {
		return unpause(queue)
	}
	return queueWay(queue)
}

// ofQueue ends the holds of a queue itself; an empty code means all.
func (r *resuming) ofQueue(ctx context.Context, queue, code string) error {
	ended, err := r.Jobs.ResumeQueue(ctx, queue, code)
	if err != nil {
		return err
	}
	for i := range ended {
		h := &ended[i]
		r.Log.Info().Str("queue", queue).Str("code", h.Code).Str("key", h.Key).Msg("a person resumes a queue")
		r.answer.Holds = append(r.answer.Holds, events.ResumedHold{Queue: queue, Key: h.Key, Code: h.Code, Ended: true})
	}
	return r.tellPause(ctx, queue)
}

// tellPause tells of a pause that goes on: what has just been resumed waits for it.
func (r *resuming) tellPause(ctx context.Context, queue string) error {
	b, err := r.Jobs.Budget(ctx, queue)
	if err != nil {
		return err
	}
	for i := range b.Holds {
		if b.Holds[i].Code == events.HoldPaused {
			r.answer.Holds = append(r.answer.Holds, events.ResumedHold{Queue: queue, Code: events.HoldPaused, Why: unpause(queue)})
		}
	}
	return nil
}

// queueOf tells of the queue's hold that batches of the job wait for: it is not one job's to end.
func (r *resuming) queueOf(ctx context.Context, j *jobs.Job) error {
	if !r.waits {
		return nil
	}
	holds, err := r.queueHolds(ctx, &j.Job)
	if err != nil {
		return err
	}
	for i := range holds {
		if h := &holds[i]; r.code == "" || r.code == h.Code {
			hold := events.ResumedHold{Queue: j.Queue, Key: h.Key, Code: h.Code, Why: wayOf(j.Queue, h.Code)}
			r.answer.Holds = append(r.answer.Holds, hold)
		}
	}
	return nil
}

// queueHolds are the holds of a job's queue that keep its batches from being sent.
func (s *Service) queueHolds(ctx context.Context, j *events.Job) ([]events.QueueHold, error) {
	budget, err := s.Jobs.Budget(ctx, j.Queue)
	if err != nil {
		return nil, err
	}
	return holdsOf(&budget.Budget, j), nil
}

// holdsOf are those of the queue's holds that stop batches of the job. It is pure.
func holdsOf(budget *events.Budget, j *events.Job) (holds []events.QueueHold) {
	if j.State == events.JobCompleted {
		return nil
	}
	for _, h := range budget.Holds {
		if h.Key == "" || h.Key == j.Policy.Key {
			holds = append(holds, h)
		}
	}
	return holds
}

// budgets are those of all queues that have one, by queue.
func (s *Service) budgets(ctx context.Context) (map[string]events.Budget, error) {
	all := make(map[string]events.Budget)
	for b, err := range s.Jobs.Budgets(ctx) {
		if err != nil {
			return nil, fmt.Errorf("list budgets: %w", err)
		}
		all[b.Queue] = b.Budget
	}
	return all, nil
}
