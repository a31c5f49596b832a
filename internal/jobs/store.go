package jobs

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Bus is what this package needs of the store, which is a [jetstore.Store] everywhere but in tests.
type Bus interface {
	Get(ctx context.Context, key string) (jetstore.Entry, error)
	EntriesFrom(ctx context.Context, prefix string, from uint64) iter.Seq2[jetstore.Entry, error]
	Commit(ctx context.Context, changes ...jetstore.Change) ([]uint64, error)
}

// Objects is where manifests and whole blocks are kept.
type Objects interface {
	Read(ctx context.Context, stream, subjectFilter string, from uint64) iter.Seq2[jetstore.Message, error]
	PutObject(ctx context.Context, stream, subject string, r io.Reader) (jetstore.Object, error)
	OpenObject(ctx context.Context, o jetstore.Object) (io.ReadCloser, error)
}

// Job is a job's state as it was read. Revision is what a change of it replaces; 0 means that it does not exist yet.
type Job struct {
	events.Job
	Revision uint64
}

// Name is the job's own name, without its queue.
func (j *Job) Name() string { return j.Job.Job }

// Batch is a batch's state as it was read.
type Batch struct {
	events.Batch
	Revision uint64
}

// StateKey is the key of b's state in the bucket (the field Key names an API key).
func (b *Batch) StateKey() string { return events.BatchKey(b.Queue, b.Job, b.N) }

// Cursor is a batch's cursor as it was read, and whose it is.
type Cursor struct {
	events.Cursor
	Queue, Job, N string
	Revision      uint64
}

// Store reads and changes states. It is safe for concurrent use.
type Store struct{ bus Bus }

// New returns a store on bus.
func New(bus Bus) *Store { return &Store{bus: bus} }

// Job reads a job's state; [jetstore.ErrNotFound] when there is none, with the revision that a new one replaces.
func (s *Store) Job(ctx context.Context, queue, job string) (Job, error) {
	entry, err := s.bus.Get(ctx, events.JobKey(queue, job))
	if err != nil {
		return Job{Revision: entry.Revision}, fmt.Errorf("get job %s/%s: %w", queue, job, err)
	}
	return readJob(entry)
}

// Batch reads a batch's state; [jetstore.ErrNotFound] when there is none.
func (s *Store) Batch(ctx context.Context, queue, job, n string) (Batch, error) {
	entry, err := s.bus.Get(ctx, events.BatchKey(queue, job, n))
	if err != nil {
		return Batch{}, fmt.Errorf("get batch %s/%s/%s: %w", queue, job, n, err)
	}
	return readBatch(entry)
}

// Cursor reads a batch's cursor; one with no lines, which can be committed, when there is none.
func (s *Store) Cursor(ctx context.Context, b *Batch) (Cursor, error) {
	cursor := Cursor{Queue: b.Queue, Job: b.Job, N: b.N}
	entry, err := s.bus.Get(ctx, events.CursorKey(b.Queue, b.Job, b.N))
	if isNotFound(err) {
		cursor.Settled, cursor.Revision = events.NewBits(b.Rows), entry.Revision
		return cursor, nil
	}
	if err != nil {
		return Cursor{}, fmt.Errorf("get cursor of %s: %w", b.StateKey(), err)
	}
	cursor.Revision = entry.Revision
	cursor.Cursor, err = events.ParseCursor(entry.Value)
	return cursor, err
}

// Jobs yields every job, in no order. What it yields may be older than what [Store.Job] reads: decide on a change from the latter.
func (s *Store) Jobs(ctx context.Context) iter.Seq2[Job, error] {
	return s.JobsFrom(ctx, 1)
}

// JobsFrom yields the jobs whose last change has the revision from or a later one, in the order of their last changes.
func (s *Store) JobsFrom(ctx context.Context, from uint64) iter.Seq2[Job, error] {
	return each(s.bus.EntriesFrom(ctx, "job.", from), readJob)
}

// Batches yields every batch of a job, in no order, under the same reserve.
func (s *Store) Batches(ctx context.Context, queue, job string) iter.Seq2[Batch, error] {
	return each(s.bus.EntriesFrom(ctx, events.BatchPrefix(queue, job), 1), readBatch)
}

// AllBatches yields every batch of every job, in no order, under the same reserve.
func (s *Store) AllBatches(ctx context.Context) iter.Seq2[Batch, error] {
	return each(s.bus.EntriesFrom(ctx, "batch.", 1), readBatch)
}

// BatchesFrom yields the batches of a queue, of one of its jobs, or, where both are empty, all, whose last change has the revision from or a later
// one, in the order of their last changes.
func (s *Store) BatchesFrom(ctx context.Context, queue, job string, from uint64) iter.Seq2[Batch, error] {
	prefix := "batch."
	if queue != "" {
		prefix += queue + "."
		if job != "" {
			prefix = events.BatchPrefix(queue, job)
		}
	}
	return each(s.bus.EntriesFrom(ctx, prefix, from), readBatch)
}

// Settled adds up the rows of a job that have their answer so far: those of its batches' cursors, and those that never were in a batch.
func (s *Store) Settled(ctx context.Context, j *Job) (events.Totals, error) {
	totals := outside(&j.Job)
	counted := make(map[string]events.Totals) // a cursor that moves meanwhile is listed twice, the second time as it is now
	for entry, err := range s.bus.EntriesFrom(ctx, events.CursorPrefix(j.Queue, j.Name()), 1) {
		if err != nil {
			return totals, fmt.Errorf("list cursors of %s/%s: %w", j.Queue, j.Name(), err)
		}
		cursor, err := events.ParseCursor(entry.Value)
		if err != nil {
			return totals, err
		}
		counted[entry.Key] = cursor.Totals
	}
	for _, of := range counted {
		totals.Add(of)
	}
	return totals, nil
}

func each[T any](entries iter.Seq2[jetstore.Entry, error], read func(jetstore.Entry) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for entry, err := range entries {
			var state T
			if err == nil {
				state, err = read(entry)
			}
			if !yield(state, err) {
				return
			}
		}
	}
}

func readJob(entry jetstore.Entry) (Job, error) {
	job, err := events.ParseJob(entry.Value)
	return Job{Job: job, Revision: entry.Revision}, err
}

func readBatch(entry jetstore.Entry) (Batch, error) {
	batch, err := events.ParseBatch(entry.Value)
	return Batch{Batch: batch, Revision: entry.Revision}, err
}
