package submit

import (
	"context"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// openJobs are the jobs that are not completed, by key, as a sweep sees them.
type openJobs map[string]*openJob

type openJob struct {
	queue, name string
	cancelled   bool
	held        bool // nothing of it is sent
	priority    int
	planned     bool       // fully
	running     bool       // has a batch that has not ended
	spends      events.Job // what of the job's state its limits of spending depend on
}

func (s *Submitter) openJobs(ctx context.Context) (openJobs, error) {
	open := make(openJobs)
	for j, err := range s.config.Jobs.Jobs(ctx) {
		if err != nil {
			return nil, err
		}
		if j.State != events.JobCompleted {
			open[events.JobKey(j.Queue, j.Name())] = &openJob{
				queue: j.Queue, name: j.Name(), cancelled: j.CancelWanted != nil, planned: j.State == events.JobPlanned,
				held: j.Hold != nil, priority: j.Policy.Priority,
				spends: events.Job{Policy: events.Policy{Budget: j.Policy.Budget}, Allowed: j.Allowed, Spending: j.Spending},
			}
		}
	}
	return open, nil
}

// saw takes note of one of a job's batches.
func (o openJobs) saw(b *jobs.Batch) {
	if job, ok := o[events.JobKey(b.Queue, b.Job)]; ok && !b.State.Ended() {
		job.running = true
	}
}

// cancelled reports whether a cancel of b's job still asks something of b.
func (o openJobs) cancelled(b *jobs.Batch) bool {
	job, ok := o[events.JobKey(b.Queue, b.Job)]
	return ok && job.cancelled && (b.State == events.BatchSubmitted || waits(&b.Batch))
}

// complete completes jobs whose last batch this service ended just before it died.
func (s *Submitter) complete(ctx context.Context, open openJobs) error {
	for _, job := range open {
		if !job.planned || job.running {
			continue
		}
		if _, err := s.config.Jobs.Complete(ctx, job.queue, job.name); err != nil {
			return err
		}
	}
	return nil
}
