package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// readBatches reads the job's batches with their cursors. A list is no snapshot, so what it does not show of what the states name is asked
// for by itself.
func (a *reader) readBatches(ctx context.Context) error {
	byN := make(map[string]*events.Batch)
	for b, err := range a.Jobs.Batches(ctx, a.job.Queue, a.job.Job) {
		if err != nil {
			return fmt.Errorf("list batches: %w", err)
		}
		byN[b.N] = &b.Batch
	}
	if err := a.readNamed(ctx, byN); err != nil {
		return err
	}
	for _, b := range byN {
		cursor, err := a.Jobs.Cursor(ctx, &jobs.Batch{Batch: *b})
		if err != nil {
			return err
		}
		a.batches = append(a.batches, carried{Batch: b, cursor: cursor.Cursor, followed: rowsOf(b.FollowUps, byN)})
	}
	slices.SortFunc(a.batches, func(x, y carried) int { return events.CompareNumbers(x.N, y.N) })
	a.report.Batches = len(a.batches)
	a.chain(byN)
	return nil
}

func rowsOf(numbers []string, byN map[string]*events.Batch) (n int) {
	for _, followUp := range numbers {
		if b := byN[followUp]; b != nil {
			n += b.Rows
		}
	}
	return n
}

// readNamed adds what the states name and byN lacks, and reads parents again that do not name their follow-ups.
func (a *reader) readNamed(ctx context.Context, byN map[string]*events.Batch) error {
	wanted := make([]string, 0, a.job.Batches)
	for n := range a.job.Batches {
		wanted = append(wanted, strconv.Itoa(n+1))
	}
	for _, b := range byN {
		wanted = append(wanted, b.FollowUps...)
		if parent := byN[b.Parent]; parent != nil && !slices.Contains(parent.FollowUps, b.N) {
			delete(byN, b.Parent)
			wanted = append(wanted, b.Parent)
		}
	}
	for len(wanted) > 0 {
		n := wanted[0]
		wanted = wanted[1:]
		if n == "" || byN[n] != nil {
			continue
		}
		b, err := a.Jobs.Batch(ctx, a.job.Queue, a.job.Job, n)
		if errors.Is(err, jetstore.ErrNotFound) {
			continue // chain says so
		}
		if err != nil {
			return err
		}
		byN[n] = &b.Batch
		wanted = append(append(wanted, b.FollowUps...), b.Parent)
	}
	return nil
}

// chain sees whether states and batches name each other: the job its batches, a parent its follow-ups, each follow-up its parent.
func (a *reader) chain(byN map[string]*events.Batch) {
	r := a.report
	for n := range a.job.Batches {
		if number := strconv.Itoa(n + 1); byN[number] == nil {
			r.problem(Problem{Code: BatchMissing, Batch: number}, "the job planned batch %s, which has no state", number)
		}
	}
	followUps := 0
	for i := range a.batches {
		b := a.batches[i].Batch
		for _, n := range b.FollowUps {
			if child := byN[n]; child == nil || child.Parent != b.N {
				r.problem(Problem{Code: BatchMissing, Batch: n}, "batch %s names the follow-up %s, which has no state or another parent", b.N, n)
			}
		}
		if b.Parent == "" {
			continue
		}
		followUps++
		if parent := byN[b.Parent]; parent == nil || !slices.Contains(parent.FollowUps, b.N) {
			r.problem(Problem{Code: BatchMissing, Batch: b.N}, "the follow-up %s is not named by batch %s", b.N, b.Parent)
		}
	}
	if completed := a.job.State == events.JobCompleted; completed && (followUps != a.job.FollowUps || len(byN) != a.job.Batches+followUps) {
		r.problem(Problem{Code: BatchMissing}, "the job counts %d batches and %d follow-ups; there are %d and %d",
			a.job.Batches, a.job.FollowUps, len(byN)-followUps, followUps)
	}
}

// readManifests lets every batch take its rows.
func (a *reader) readManifests(ctx context.Context) error {
	for i := range a.batches {
		b := &a.batches[i]
		a.account(b)
		if a.report.Basis != ByRows {
			continue
		}
		entries, err := manifest.Load(ctx, a.Bus, b.Manifest)
		switch {
		case errors.Is(err, jetstore.ErrObjectMissing), errors.Is(err, jetstore.ErrDigest), errors.Is(err, manifest.ErrCorrupt):
			a.report.problem(Problem{Code: ManifestUnread, Batch: b.N}, "%v", err)
		case err != nil:
			return err
		}
		a.batch(b, entries)
	}
	return nil
}
