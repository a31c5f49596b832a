package api

import (
	"cmp"
	"context"

	"github.com/batchbus/batchbus/pkg/events"
)

// maxPauseBytes bounds what a person says about a pause, like last errors.
const maxPauseBytes = 1 << 10

// pauseQueue keeps batches of a queue from being sent, until resumeQueue.
func (s *Service) pauseQueue(ctx context.Context, q events.PauseQueue) (none events.QueueStatus, err error) {
	name, err := queueName(q.Queue)
	if err != nil {
		return none, err
	}
	if len(q.Message) > maxPauseBytes {
		return none, refusal(events.APIBadRequest, "message has more than %d bytes", maxPauseBytes)
	}
	if _, err := s.Jobs.PauseQueue(ctx, name, cmp.Or(q.Message, "somebody paused the queue")); err != nil {
		return none, err
	}
	s.Log.Info().Str("queue", name).Msg("the queue is paused")
	return s.getQueue(ctx, events.GetQueue{Queue: name})
}

// resumeQueue ends the pause of a queue.
func (s *Service) resumeQueue(ctx context.Context, q events.GetQueue) (none events.QueueStatus, err error) {
	name, err := queueName(q.Queue)
	if err != nil {
		return none, err
	}
	if _, err := s.Jobs.UnpauseQueue(ctx, name); err != nil {
		return none, err
	}
	s.Log.Info().Str("queue", name).Msg("the queue is paused no more")
	return s.getQueue(ctx, events.GetQueue{Queue: name})
}
