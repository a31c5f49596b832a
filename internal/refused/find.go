package refused

import (
	"context"
	"errors"
	"fmt"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Find returns the entries that ref names: by the subject on which it stands, by its source, or by its custom_id in what f takes. At most f's
// Limit of them; none is no error.
func (r *Reader) Find(ctx context.Context, ref string, f Filter) ([]Entry, error) {
	if queue, job, source, ok := splitLetter(ref); ok {
		return r.list(ctx, Filter{Queue: queue, Jobs: []string{job}, Sources: []string{source}, Kind: DeadLetter, Limit: 1})
	}
	if _, _, _, ok := splitResult(ref); ok {
		return r.result(ctx, ref)
	}
	byID := f
	byID.CustomIDs = []string{ref}
	found, err := r.list(ctx, byID)
	if _, isSource := hashOf(ref); err != nil || len(found) > 0 || !isSource {
		return found, err
	}
	f.Sources = []string{ref}
	return r.list(ctx, f)
}

func (r *Reader) list(ctx context.Context, f Filter) (found []Entry, err error) {
	for e, err := range r.Entries(ctx, f) {
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return found, nil
}

func (r *Reader) result(ctx context.Context, subject string) ([]Entry, error) {
	m, err := r.Bus.Last(ctx, jetstore.StreamResults, subject)
	if errors.Is(err, jetstore.ErrNotFound) || err == nil && m.Header.Get(events.HeaderOutcome) != string(events.Rejected) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	e, err := resultOf(&m)
	return []Entry{e}, err
}
