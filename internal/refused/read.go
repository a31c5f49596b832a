package refused

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Bus is what refused rows are read from; a [jetstore.Store] is one.
type Bus interface {
	manifest.Bus
	Last(ctx context.Context, stream, subject string) (jetstore.Message, error)
}

// Reader reads refused rows. It is safe for concurrent use.
type Reader struct {
	Bus  Bus
	Jobs *jobs.Store
}

// Entries yields what f takes of what stands on the bus now: dead letters in the order in which they were stored, then the rejected rows of
// one job after the other. Payloads are those that the dead letters' own messages hold, see [Reader.Fetch]. It ends after the first error.
func (r *Reader) Entries(ctx context.Context, f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		left := f.Limit
		for e, err := range r.all(ctx, f) {
			if err == nil && !f.takes(&e) {
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
			if left--; left == 0 {
				return
			}
		}
	}
}

// all yields more than f takes.
func (r *Reader) all(ctx context.Context, f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if f.Kind != Rejected {
			for _, subject := range f.letterFilters() {
				if !r.letters(ctx, f, subject, yield) {
					return
				}
			}
		}
		if f.Kind != DeadLetter {
			r.rejected(ctx, f, yield)
		}
	}
}

func (r *Reader) letters(ctx context.Context, f Filter, subject string, yield func(Entry, error) bool) (more bool) {
	for m, err := range r.Bus.Read(ctx, jetstore.StreamDeadletters, subject, 1) {
		if err != nil {
			yield(Entry{}, fmt.Errorf("read dead letters: %w", err))
			return false
		}
		if f.mayTake(m.Header.Get(events.HeaderCode)) && !yield(letterOf(&m), nil) {
			return false
		}
	}
	return true
}

// rejected goes through the results of the jobs that have a rejected one. With ids given it need not know the jobs.
func (r *Reader) rejected(ctx context.Context, f Filter, yield func(Entry, error) bool) {
	if len(f.CustomIDs) > 0 {
		for _, job := range f.jobs() {
			if !r.results(ctx, f.resultFilters(f.queue(), job), yield) {
				return
			}
		}
		return
	}
	for j, err := range r.candidates(ctx, f) {
		if err != nil {
			yield(Entry{}, err)
			return
		}
		if !r.results(ctx, f.resultFilters(j.Queue, j.Name()), yield) {
			return
		}
	}
}

// candidates yields the jobs of f, but for those that are known to have no rejected row.
func (r *Reader) candidates(ctx context.Context, f Filter) iter.Seq2[jobs.Job, error] {
	return func(yield func(jobs.Job, error) bool) {
		for j, err := range r.jobs(ctx, f) {
			if err == nil && j.State == events.JobCompleted && j.Totals != nil && j.Totals.Rejected == 0 {
				continue
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}

// jobs yields each job of f once.
func (r *Reader) jobs(ctx context.Context, f Filter) iter.Seq2[jobs.Job, error] {
	return func(yield func(jobs.Job, error) bool) {
		if f.Queue != "" && len(f.Jobs) > 0 {
			r.named(ctx, f, yield)
			return
		}
		seen := make(map[string]bool) // one that changes meanwhile comes twice
		for j, err := range r.Jobs.Jobs(ctx) {
			key := events.JobKey(j.Queue, j.Name())
			if err == nil && (seen[key] || !f.job(&j)) {
				continue
			}
			seen[key] = true
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}

func (r *Reader) named(ctx context.Context, f Filter, yield func(jobs.Job, error) bool) {
	for _, job := range f.Jobs {
		j, err := r.Jobs.Job(ctx, f.Queue, job)
		if errors.Is(err, jetstore.ErrNotFound) {
			continue // a message that was refused as a whole need not have opened its job
		}
		if !yield(j, err) || err != nil {
			return
		}
	}
}

// job reports whether j is one of f's jobs.
func (f *Filter) job(j *jobs.Job) bool {
	if f.Queue != "" && f.Queue != j.Queue {
		return false
	}
	for _, name := range f.Jobs {
		if name == j.Name() {
			return true
		}
	}
	return len(f.Jobs) == 0
}

func (r *Reader) results(ctx context.Context, subjects []string, yield func(Entry, error) bool) (more bool) {
	for _, subject := range subjects {
		for m, err := range r.Bus.Read(ctx, jetstore.StreamResults, subject, 1) {
			if err == nil && m.Header.Get(events.HeaderOutcome) != string(events.Rejected) {
				continue
			}
			var e Entry
			if err == nil {
				e, err = resultOf(&m)
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("read rejected results: %w", err))
				return false
			}
			if !yield(e, nil) {
				return false
			}
		}
	}
	return true
}
