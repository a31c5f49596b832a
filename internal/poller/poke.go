package poller

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// Poke has batches, named by the provider's ids, polled now: it makes them due, so that any replica polls them, and then polls for their
// keys itself. Batches that no state follows, or that are due anyway, are ignored. It believes nothing of who asks: a poll and a poke at once
// are two polls, of which one changes the state. After an error the batches are polled when they are due.
func (s *Service) Poke(ctx context.Context, providerBatchIDs []string) error {
	ctx = s.cfg.Bus.Anchor(ctx)
	keys, err := s.makeDue(ctx, providerBatchIDs)
	for _, key := range keys {
		err = errors.Join(err, s.tick(ctx, tickPrefix+tickName(key)))
	}
	return err
}

// makeDue returns the keys of those that are followed.
func (s *Service) makeDue(ctx context.Context, ids []string) (keys []string, err error) {
	for b, err := range s.cfg.Jobs.AllBatches(ctx) {
		if err != nil {
			return keys, err
		}
		if b.State != events.BatchSubmitted || !slices.Contains(ids, b.ProviderBatchID) {
			continue
		}
		if !slices.Contains(keys, b.Key) {
			keys = append(keys, b.Key)
		}
		change := jobs.NewChange(time.Now())
		now := change.At()
		if b.NextPollAt == nil || !b.NextPollAt.After(now) {
			continue
		}
		b.NextPollAt = &now
		change.Batch(&b)
		if err := s.cfg.Jobs.Commit(ctx, change); err != nil && !jobs.IsConflict(err) {
			return keys, err
		}
	}
	return keys, nil
}
