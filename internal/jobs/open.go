package jobs

import (
	"context"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// Options are what the opener of a job may say about it.
type Options struct {
	Policy      events.Policy
	Description string
	InputSHA256 string
	Fixes       *events.JobRef
	Retries     *events.JobRef
}

// Open returns the job's state, opened now with the given options if there was none. Of two that open it at once one wins, and both
// return the winner's. It is idempotent; after an error the job may be open.
func (s *Store) Open(ctx context.Context, queue, job string, o Options) (Job, error) {
	found, err := s.Job(ctx, queue, job)
	if err == nil || !isNotFound(err) {
		return found, err
	}
	now := time.Now().UTC()
	opened := Job{Revision: found.Revision, Job: events.Job{
		Queue: queue, Job: job, State: events.JobOpen, SinceAt: now, OpenedAt: now,
		Description: o.Description, InputSHA256: o.InputSHA256, Fixes: o.Fixes, Retries: o.Retries, Policy: o.Policy,
	}}
	change := NewChange(now)
	change.Job(&opened, events.JobOpened)
	err = s.Commit(ctx, change)
	if IsConflict(err) {
		return s.Job(ctx, queue, job)
	}
	return opened, err
}
