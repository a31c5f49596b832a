package plan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// sweepAll sweeps at once and then every SweepInterval, until ctx ends.
func (p *Planner) sweepAll(ctx context.Context) {
	s := sweeper{planner: p, behind: make(map[string]events.Place)}
	for ctx.Err() == nil {
		p.Observe.Beat(obs.LoopPlannerSweep)
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			p.Log.Warn().Err(err).Msg("sweep failed, trying again")
		}
		jitter := rand.N(p.SweepInterval/5+1) - p.SweepInterval/10 //nolint:gosec // spreads load, guards nothing
		timer := time.NewTimer(p.SweepInterval + jitter)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// sweeper finds jobs whose wake-up got lost: those whose newest block is not the one that they are walked up to, and that have not moved
// since the sweep before. One that moves has a planner, here or elsewhere, and is left to it.
type sweeper struct {
	planner *Planner
	behind  map[string]events.Place // where each job that was behind stood at the last sweep
}

// sweep goes once over all jobs and all subjects of ROWS. One job's failure does not keep it from the others.
func (s *sweeper) sweep(ctx context.Context) error {
	ctx = s.planner.Bus.Anchor(ctx)
	counts, err := s.planner.Bus.SubjectCounts(ctx, jetstore.StreamRows, events.PrefixRows+">")
	if err != nil {
		return err
	}
	behind := make(map[string]events.Place)
	var failures []error
	for job, err := range s.planner.Jobs.Jobs(ctx) {
		if err != nil {
			return errors.Join(append(failures, fmt.Errorf("list jobs: %w", err))...)
		}
		subject := events.RowsSubject(job.Queue, job.Name())
		_, rows := counts[subject]
		delete(counts, subject)
		s.planner.seats.prune(seatName(job.Queue, job.Name()), &job)
		failures = append(failures, s.look(ctx, &job, rows, behind))
	}
	for subject := range counts { // what is left has no state
		queue, name, err := events.ParseRowsSubject(subject)
		if err == nil {
			err = s.planner.Plan(ctx, queue, name)
		}
		failures = append(failures, quiet(err))
	}
	s.behind = behind
	return errors.Join(failures...)
}

// look plans a job that has been left behind, and completes one that nobody completed.
func (s *sweeper) look(ctx context.Context, job *jobs.Job, rows bool, behind map[string]events.Place) error {
	if job.Hold != nil && !givenUp(&job.Job) {
		return nil
	}
	late, err := s.isBehind(ctx, job, rows)
	if err != nil {
		return err
	}
	name := seatName(job.Queue, job.Name())
	before, twice := s.behind[name]
	switch {
	case late && twice && before.Sequence == job.Walked.Sequence:
		return quiet(s.planner.Plan(ctx, job.Queue, job.Name()))
	case late:
		behind[name] = job.Walked
	case job.State == events.JobPlanned:
		_, err = s.planner.Jobs.Complete(ctx, job.Queue, job.Name())
	}
	return err
}

// isBehind tells whether the newest block of a job is another than the one it is walked up to. A completed job without blocks was purged.
func (s *sweeper) isBehind(ctx context.Context, job *jobs.Job, rows bool) (bool, error) {
	if !rows {
		return job.Walked.Sequence > 0 && job.State != events.JobCompleted, nil
	}
	last, err := s.planner.Bus.Last(ctx, jetstore.StreamRows, events.RowsSubject(job.Queue, job.Name()))
	if errors.Is(err, jetstore.ErrNotFound) {
		return false, nil // purged since it was counted
	}
	return last.Sequence != job.Walked.Sequence || !last.At.Equal(job.Walked.At), err
}

func quiet(err error) error {
	if errors.Is(err, ErrBusy) {
		return nil
	}
	return err
}
