package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

const (
	// lookInterval is how often a run reads what is new.
	lookInterval = 250 * time.Millisecond
	// holdPatience is how long a run stays when something waits for a person, who is most likely the one in front of it.
	holdPatience = 5 * time.Second
)

// follower writes a job's results and dead letters to files as they come, until the job is complete and all of them are there.
type follower struct {
	plan     *plan
	bus      *app.Bus
	progress *progress
	output   *outFile
	failures *outFile

	job         jobs.Job
	batches     []events.Batch
	nextResult  uint64
	nextLetter  uint64
	totals      events.Totals
	deadLetters int
	heldSince   time.Time
}

func newFollower(p *plan, bus *app.Bus) (*follower, error) {
	output, err := openOut(p.out, "output.jsonl")
	if err != nil {
		return nil, err
	}
	failures, err := openOut(p.out, "errors.jsonl")
	if err != nil {
		return nil, err
	}
	return &follower{plan: p, bus: bus, output: output, failures: failures, progress: newProgress(p)}, nil
}

// follow returns nil once every row has its line in one of the files.
func (f *follower) follow(ctx context.Context) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		done, err := f.look(ctx)
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// look reads what is new. The job is read before the results, so that a completed job's results are all behind it.
func (f *follower) look(ctx context.Context) (done bool, err error) {
	if f.job, err = f.bus.Jobs.Job(ctx, f.plan.queue, f.plan.job); err != nil {
		return false, err
	}
	f.batches = f.batches[:0]
	for b, err := range f.bus.Jobs.Batches(ctx, f.plan.queue, f.plan.job) {
		if err != nil {
			return false, err
		}
		f.batches = append(f.batches, b.Batch)
	}
	slices.SortFunc(f.batches, func(a, b events.Batch) int { return events.CompareNumbers(a.N, b.N) })
	if err := f.readResults(ctx); err != nil {
		return false, err
	}
	if err := f.readDeadLetters(ctx); err != nil {
		return false, err
	}
	if err := errors.Join(f.output.flush(), f.failures.flush()); err != nil {
		return false, err
	}
	f.progress.show(f)
	if f.job.State == events.JobCompleted && f.job.Totals != nil && f.totals.Rows >= f.job.Totals.Rows {
		return true, nil
	}
	return false, f.held()
}

func (f *follower) readResults(ctx context.Context) error {
	for r, err := range f.bus.Client.Results(ctx, f.plan.queue, f.plan.job, f.nextResult) {
		if err != nil {
			return err
		}
		f.nextResult = r.Sequence + 1
		usage := events.Usage{}
		if r.Usage != nil {
			usage = *r.Usage
		}
		f.totals.Count(r.Outcome, r.Truncated, usage)
		to := f.output
		if r.Outcome != events.Succeeded {
			to = f.failures
		}
		if err := to.write(f.plan.format.result(to.line[:0], &r)); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) readDeadLetters(ctx context.Context) error {
	for d, err := range f.bus.Client.DeadLetters(ctx, f.plan.queue, f.plan.job, f.nextLetter) {
		if err != nil {
			return err
		}
		f.nextLetter = d.Standing + 1
		f.deadLetters++
		if err := f.failures.write(f.plan.format.deadLetter(f.failures.line[:0], &d)); err != nil {
			return err
		}
	}
	return nil
}

// held ends the run when something has been waiting for a person for a while.
func (f *follower) held() error {
	holds := f.holds()
	switch {
	case len(holds) == 0:
		f.heldSince = time.Time{}
	case f.heldSince.IsZero():
		f.heldSince = time.Now()
	case time.Since(f.heldSince) > holdPatience:
		return fmt.Errorf("the job is held: %s. Nothing is lost; the same command goes on", strings.Join(holds, "; "))
	}
	return nil
}

func (f *follower) holds() (holds []string) {
	if f.job.Hold != nil {
		holds = append(holds, f.job.Hold.Code+": "+f.job.Hold.Message)
	}
	for i := range f.batches {
		if hold := f.batches[i].Hold; hold != nil && !f.batches[i].State.Ended() {
			holds = append(holds, fmt.Sprintf("batch %s: %s: %s", f.batches[i].N, hold.Code, hold.Message))
		}
	}
	return holds
}

// keep leaves the files of a run that was stopped, under their partial names.
func (f *follower) keep() error {
	f.progress.stop()
	if err := f.output.keep(); err != nil {
		return err
	}
	return f.failures.keep()
}

// finish gives the files their names and says how it went.
func (f *follower) finish() (int, error) {
	f.progress.stop()
	for _, file := range []*outFile{f.output, f.failures} {
		if err := file.finish(); err != nil {
			return app.ExitFault, err
		}
	}
	s := f.summary()
	if err := keepSummary(f.plan.out, &s); err != nil {
		return app.ExitFault, err
	}
	if err := f.plan.report(&s); err != nil {
		return app.ExitFault, err
	}
	if s.Rows.Succeeded != s.Rows.Total || s.Rows.Total != f.plan.rows {
		return app.ExitRows, nil
	}
	return app.ExitOK, nil
}
