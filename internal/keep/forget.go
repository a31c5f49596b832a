package keep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// ErrNotSettled is returned when a job is not completed, or rows have come since that nobody has looked at yet: its contents are still needed.
var ErrNotSettled = errors.New("the job is not settled")

// Forget removes a completed job's rows, results, dead letters, manifests and objects from the bus, notes that in its state, which stays, and
// tells what is left at the provider. It is idempotent; after an error some of it may be removed: forget it again. It blocks for as long as
// the deleting takes: some milliseconds an object, seconds for a million results.
func Forget(ctx context.Context, bus *jetstore.Store, store *jobs.Store, queue, job string) (events.Forgotten, error) {
	forgotten := events.Forgotten{Queue: queue, Job: job}
	j, err := store.Job(ctx, queue, job)
	if err != nil {
		return forgotten, err
	}
	if err := checkSettled(ctx, bus, &j); err != nil {
		return forgotten, err
	}
	if _, err := purgeRows(ctx, bus, &j); err != nil {
		return forgotten, err
	}
	for stream, filter := range map[string]string{
		jetstore.StreamResults: events.ResultsFilter(queue, job), jetstore.StreamDeadletters: events.DeadlettersFilter(queue, job),
	} {
		if err := bus.Purge(ctx, stream, filter, 0); err != nil {
			return forgotten, fmt.Errorf("forget job: %w", err)
		}
	}
	if forgotten.Objects, err = deleteObjects(ctx, bus, queue, job); err != nil {
		return forgotten, err
	}
	if forgotten.Remains, err = remains(ctx, store, &j); err != nil {
		return forgotten, err
	}
	return forgotten, note(ctx, store, queue, job)
}

// checkSettled returns [ErrNotSettled] when a block stands behind walked: its rows are not answered yet.
func checkSettled(ctx context.Context, bus *jetstore.Store, j *jobs.Job) error {
	if j.State != events.JobCompleted {
		return ErrNotSettled
	}
	last, err := bus.Last(ctx, jetstore.StreamRows, events.RowsSubject(j.Queue, j.Name()))
	switch {
	case errors.Is(err, jetstore.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look for late rows: %w", err)
	case last.Sequence != j.Walked.Sequence || !last.At.Equal(j.Walked.At):
		return ErrNotSettled
	}
	return nil
}

// remains lists what the provider was given and made.
func remains(ctx context.Context, store *jobs.Store, j *jobs.Job) ([]events.RemoteBatch, error) {
	byNumber := make(map[string][]events.RemoteBatch) // a batch that changes meanwhile is listed twice, the second time as it is now
	for b, err := range store.Batches(ctx, j.Queue, j.Name()) {
		if err != nil {
			return nil, fmt.Errorf("list batches: %w", err)
		}
		byNumber[b.N] = remote(&b.Batch)
	}
	all := make([]events.RemoteBatch, 0, len(byNumber))
	for _, of := range byNumber {
		all = append(all, of...)
	}
	slices.SortStableFunc(all, func(a, b events.RemoteBatch) int { return events.CompareNumbers(a.N, b.N) })
	return all, nil
}

// remote is what the provider was given and made of one batch: what the state follows, and what a person gave up.
func remote(b *events.Batch) (all []events.RemoteBatch) {
	if cmp.Or(b.ProviderBatchID, b.FileID, b.OutputFileID, b.ErrorFileID) != "" {
		all = append(all, events.RemoteBatch{
			N: b.N, ProviderBatchID: b.ProviderBatchID, InputFileID: b.FileID, OutputFileID: b.OutputFileID, ErrorFileID: b.ErrorFileID,
		})
	}
	for _, id := range b.Abandoned {
		if id != b.ProviderBatchID {
			all = append(all, events.RemoteBatch{N: b.N, ProviderBatchID: id})
		}
	}
	return all
}

// note writes into the job's state that it was forgotten, once.
func note(ctx context.Context, store *jobs.Store, queue, job string) error {
	for {
		j, err := store.Job(ctx, queue, job)
		if err != nil || j.ForgottenAt != nil {
			return err
		}
		change := jobs.NewChange(time.Now())
		at := change.At()
		j.ForgottenAt = &at
		change.Job(&j, events.JobForgotten)
		if err := store.Commit(ctx, change); !jobs.IsConflict(err) {
			return err
		}
	}
}
