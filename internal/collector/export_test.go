package collector

import (
	"context"
	"time"
)

// Collect runs one collection of one batch, as a hint does.
func (s *Service) Collect(ctx context.Context, queue, job, n string) (time.Duration, error) {
	return s.collect(ctx, turn{}, batchID{queue: queue, job: job, n: n})
}

// Sweep runs one sweep.
func (s *Service) Sweep(ctx context.Context) error {
	defer s.sweeps.wait()
	return s.sweep(ctx, nil)
}
