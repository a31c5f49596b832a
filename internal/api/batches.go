package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// getBatch returns one batch.
func (s *Service) getBatch(ctx context.Context, q events.GetBatch) (none events.Batch, err error) {
	j, err := s.find(ctx, q.JobRef)
	if err != nil {
		return none, err
	}
	if !events.IsToken(q.N) {
		return none, refusal(events.APIBadRequest, "n is %.20q, and no batch's number", q.N)
	}
	b, err := s.Jobs.Batch(ctx, j.Queue, j.Name(), q.N)
	if errors.Is(err, jetstore.ErrNotFound) {
		return none, refusal(events.APIUnknownBatch, "job %s has no batch %s", j.Name(), q.N)
	}
	return b.Batch, err
}

// listBatches returns one page of batches.
func (s *Service) listBatches(ctx context.Context, q events.ListBatches) (events.BatchList, error) {
	list := events.BatchList{Batches: []events.Batch{}}
	if err := checkBatchQuery(&q); err != nil {
		return list, err
	}
	page, last := s.newPage(q.Limit), q.After
	for b, err := range s.Jobs.BatchesFrom(ctx, q.Queue, q.Job, q.After+1) {
		if err != nil {
			return list, fmt.Errorf("list batches: %w", err)
		}
		if meant(&q, &b) {
			if !page.takes(len(b.Encode())) {
				list.Next = last
				break
			}
			list.Batches = append(list.Batches, b.Batch)
		}
		last = b.Revision
	}
	return list, nil
}

// checkBatchQuery also gives a job its queue.
func checkBatchQuery(q *events.ListBatches) error {
	if q.Job != "" && q.Queue == "" {
		q.Queue = events.DefaultQueue
	}
	for _, name := range []string{q.Queue, q.Job} {
		if name != "" && !events.IsToken(name) {
			return refusal(events.APIBadRequest, "%.80q is no name of a queue or a job", name)
		}
	}
	switch q.State {
	case "", events.BatchPlanned, events.BatchUploaded, events.BatchCreating, events.BatchFencing, events.BatchSubmitted, events.BatchFinished,
		events.BatchSettled, events.BatchRefused, events.BatchCancelled:
	default:
		return refusal(events.APIBadRequest, "%.80q is no state of a batch", q.State)
	}
	if q.Limit < 0 {
		return refusal(events.APIBadRequest, "limit is negative")
	}
	return nil
}

// meant reports whether a batch is one that was asked for. It is pure.
func meant(q *events.ListBatches, b *jobs.Batch) bool {
	_, held := jobs.HoldOf(&b.Batch)
	held = held || b.Why == events.WhyQueueHeld && !b.State.Ended()
	return (q.State == "" || q.State == b.State) && (!q.Held || held)
}
