package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// All audits every job of the bus, one after the other, and yields their reports; rows that no job's state stands for are a job that is open.
// It ends after the first error, as [Job] has it. It holds the names of all jobs in memory.
func All(ctx context.Context, c Config) iter.Seq2[*Report, error] {
	return func(yield func(*Report, error) bool) {
		names, err := allJobs(ctx, c)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, at := range names {
			job := at
			if state, err := c.Jobs.Job(ctx, at.Queue, at.Job); err == nil {
				job = state.Job
			} else if !errors.Is(err, jetstore.ErrNotFound) {
				yield(nil, err)
				return
			}
			report, err := audit(ctx, c, &job)
			if !yield(report, err) || err != nil {
				return
			}
		}
	}
}

// allJobs are the jobs that have a state or rows, by name; of each only that is set, and that it is open.
func allJobs(ctx context.Context, c Config) ([]events.Job, error) {
	known := make(map[string]events.Job)
	for j, err := range c.Jobs.Jobs(ctx) {
		if err != nil {
			return nil, fmt.Errorf("list jobs: %w", err)
		}
		known[events.RowsSubject(j.Queue, j.Name())] = events.Job{Queue: j.Queue, Job: j.Name(), State: events.JobOpen}
	}
	subjects, err := c.Bus.SubjectCounts(ctx, jetstore.StreamRows, events.PrefixRows+">")
	if err != nil {
		return nil, fmt.Errorf("list jobs with rows: %w", err)
	}
	for subject := range subjects {
		if queue, job, err := events.ParseRowsSubject(subject); err == nil {
			known[subject] = events.Job{Queue: queue, Job: job, State: events.JobOpen}
		}
	}
	all := make([]events.Job, 0, len(known))
	for _, j := range known {
		all = append(all, j)
	}
	slices.SortFunc(all, func(x, y events.Job) int { return cmp.Or(cmp.Compare(x.Queue, y.Queue), cmp.Compare(x.Job, y.Job)) })
	return all, nil
}
