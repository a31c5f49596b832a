package files

import (
	"context"
	"errors"
	"fmt"

	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/doubleword"
)

const (
	pageSize = 100    // the provider clamps at 101
	maxPages = 10_000 // a million entries: more are a list that never ends
)

// errNotWhole is returned when a list repeats itself or does not end: what it did not show may be there all the same.
var errNotWhole = errors.New("the list is not whole")

// page is one page of a list.
type page[T any] struct {
	entries []T
	last    string // the cursor of the next page
	more    bool
}

// walk shows a list page by page, and holds no more than one. The provider answers a cursor that it does not know, like that of an entry that
// is gone, with page one.
func walk[T any](fetch func(after string) (page[T], error), visit func(page[T]) error) error {
	after, first := "", ""
	for range maxPages {
		p, err := fetch(after)
		if err != nil {
			return err
		}
		if p.more && (p.last == "" || p.last == after || p.last == first) {
			return errNotWhole
		}
		if first == "" {
			first = p.last
		}
		if err := visit(p); err != nil || !p.more {
			return err
		}
		after = p.last
	}
	return errNotWhole
}

// files walks the files whose names the search text is part of, newest first.
func (s *Sweeper) files(ctx context.Context, from Provider, search string, visit func(page[doubleword.File]) error) error {
	return walk(func(after string) (page[doubleword.File], error) {
		s.Observe.Beat(obs.LoopFilesSweep)
		got, err := from.Files(ctx, doubleword.FileQuery{Search: search, After: after, Limit: pageSize})
		if err != nil {
			return page[doubleword.File]{}, fmt.Errorf("list files: %w", err)
		}
		return page[doubleword.File]{entries: got.Files, last: got.Last, more: got.HasMore}, nil
	}, visit)
}

// batches walks the batches whose metadata or input file's name the search text is part of, newest first.
func (s *Sweeper) batches(ctx context.Context, from Provider, search string, visit func(page[doubleword.Batch]) error) error {
	return walk(func(after string) (page[doubleword.Batch], error) {
		s.Observe.Beat(obs.LoopFilesSweep)
		got, err := from.Batches(ctx, doubleword.BatchQuery{Search: search, After: after, Limit: pageSize})
		if err != nil {
			return page[doubleword.Batch]{}, fmt.Errorf("list batches: %w", err)
		}
		return page[doubleword.Batch]{entries: got.Batches, last: got.Last, more: got.HasMore}, nil
	}, visit)
}
