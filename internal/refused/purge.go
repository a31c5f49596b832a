package refused

import (
	"context"
	"errors"
	"fmt"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Purger deletes the messages on a subject; a [jetstore.Store] is one.
type Purger interface {
	Purge(ctx context.Context, stream, subject string, upTo uint64) error
}

// ErrFinal is returned when rejected results are to be deleted.
var ErrFinal = errors.New("a rejected result is a row's final result, which is never deleted")

// Purge deletes the dead letters that f takes and returns how many there were, by job ("queue/job"). It is idempotent; after an error some are
// deleted. Those that come meanwhile stay. It takes about a millisecond a dead letter, unless f takes all of a job's or queue's.
func (r *Reader) Purge(ctx context.Context, bus Purger, f Filter) (map[string]int, error) {
	if f.Kind == Rejected {
		return nil, ErrFinal
	}
	f.Kind = DeadLetter
	counts, last := make(map[string]int), uint64(0)
	for e, err := range r.Entries(ctx, f) {
		if err == nil && !f.Everything() {
			err = bus.Purge(ctx, jetstore.StreamDeadletters, e.Entry, e.Standing)
		}
		if err != nil {
			return counts, fmt.Errorf("purge dead letters: %w", err)
		}
		counts[e.Queue+"/"+e.Job]++
		last = max(last, e.Standing)
	}
	if !f.Everything() || last == 0 {
		return counts, nil
	}
	for _, subject := range f.letterFilters() {
		if err := bus.Purge(ctx, jetstore.StreamDeadletters, subject, last); err != nil {
			return counts, fmt.Errorf("purge dead letters: %w", err)
		}
	}
	return counts, nil
}

// Count returns how many entries f takes, by job ("queue/job").
func (r *Reader) Count(ctx context.Context, f Filter) (map[string]int, error) {
	counts := make(map[string]int)
	for e, err := range r.Entries(ctx, f) {
		if err != nil {
			return nil, err
		}
		counts[e.Queue+"/"+e.Job]++
	}
	return counts, nil
}
