package jobs_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestOpeningAJobAgainReturnsItAsItIs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := r.jobs.Job(t.Context(), queue, job); !errors.Is(err, jetstore.ErrNotFound) {
		t.Fatalf("before: %v", err)
	}
	first, err := r.jobs.Open(t.Context(), queue, job, jobs.Options{Policy: events.DefaultPolicy(), Description: "first", InputSHA256: "ab"})
	if err != nil || first.State != events.JobOpen || first.Description != "first" || first.InputSHA256 != "ab" || first.Policy.Key != "default" {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := r.jobs.Open(t.Context(), queue, job, jobs.Options{Description: "second"})
	if err != nil || second.Revision != first.Revision || string(second.Encode()) != string(first.Encode()) {
		t.Errorf("the second opener got %+v, %v", second, err)
	}
	if got, want := r.told(r.mark()), []string{"job.opened 0-0", fmt.Sprintf("job.held 0-%d", first.Revision)}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestOfTwoThatOpenAJobAtOnceOneWinsAndBothGetItsJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var looked sync.WaitGroup
	looked.Add(2)
	var opened [2]jobs.Job
	var openers sync.WaitGroup
	for i := range opened {
		openers.Go(func() {
			var once sync.Once
			bus := &interposed{Store: r.Store, afterGet: func(string) { once.Do(func() { looked.Done(); looked.Wait() }) }}
			var err error
			opened[i], err = jobs.New(bus).Open(t.Context(), queue, job, jobs.Options{Description: strconv.Itoa(i)})
			if err != nil {
				t.Errorf("opener %d: %v", i, err)
			}
		})
	}
	openers.Wait()
	if opened[0].Revision != opened[1].Revision || opened[0].Description != opened[1].Description {
		t.Errorf("the openers got %+v and %+v", opened[0], opened[1])
	}
	if got := r.told(r.mark()); len(got) != 2 || got[0] != "job.opened 0-0" {
		t.Errorf("events %v", got)
	}
}

func TestAJobWhoseRecordAPersonDeletedCanBeOpenedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bucket, err := r.Store.JetStream().KeyValue(t.Context(), jetstore.BucketJobs)
	if err != nil {
		t.Fatal(err)
	}
	batch := newBatch("1", events.BatchSubmitted, 9)
	if _, err := bucket.PutString(t.Context(), events.CursorKey(queue, job, "1"), "{}"); err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.PutString(t.Context(), events.JobKey(queue, job), "{}"); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{events.CursorKey(queue, job, "1"), events.JobKey(queue, job)} {
		if err := bucket.Delete(t.Context(), key, jetstream.LastRevision(0)); err != nil {
			t.Fatal(err)
		}
	}
	j, err := r.jobs.Open(t.Context(), queue, job, jobs.Options{})
	if err != nil || j.State != events.JobOpen {
		t.Fatalf("%+v, %v", j, err)
	}
	cursor, err := r.jobs.Cursor(t.Context(), batch)
	if err != nil || cursor.Settled.Count() != 0 || len(cursor.Settled) != 2 {
		t.Fatalf("cursor %+v, %v", cursor, err)
	}
	r.commit(func(c *jobs.Change) { c.Cursor(&cursor) })
}

func TestACommitStoresStatesAndTellsTheirEventsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j, b := r.open(), newBatch("1", events.BatchPlanned, 3)
	before := j.Revision
	cursor, err := r.jobs.Cursor(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	cursor.OutputLines = 7
	j.Batches = 1
	r.commit(func(c *jobs.Change) {
		c.Batch(b, events.BatchIsPlanned, events.BatchIsUploaded)
		c.Job(j, events.JobFullyPlanned)
		c.Cursor(&cursor)
		c.BatchEvent(b, events.BatchTwin, "a note")
	})
	if got := r.job(); got.Revision != j.Revision || got.Batches != 1 {
		t.Errorf("job %+v, want revision %d", got, j.Revision)
	}
	if got := r.batch("1"); got.Revision != b.Revision || got.Rows != 3 {
		t.Errorf("batch %+v, want revision %d", got, b.Revision)
	}
	if got, err := r.jobs.Cursor(t.Context(), b); err != nil || got.Revision != cursor.Revision || got.OutputLines != 7 {
		t.Errorf("cursor %+v, %v, want revision %d", got, err, cursor.Revision)
	}
	planned := b.Revision
	b.State = events.BatchUploaded
	r.commit(func(c *jobs.Change) { c.Batch(b, events.BatchIsFinished) })
	want := []string{
		"job.opened 0-0", "batch.planned 1-0", "batch.uploaded 1-0", fmt.Sprintf("job.planned 0-%d", before), "batch.twin 1-0",
		fmt.Sprintf("batch.finished 1-%d", planned), fmt.Sprintf("job.held 0-%d", j.Revision),
	}
	if got := r.told(r.mark()); !slices.Equal(got, want) {
		t.Errorf("events\n got %v\nwant %v", got, want)
	}
}

func TestACommitThatLosesARaceLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j, b := r.open(), newBatch("1", events.BatchPlanned, 3)
	r.commit(func(c *jobs.Change) { c.Batch(b) })
	stale := *b
	b.State = events.BatchUploaded
	r.commit(func(c *jobs.Change) { c.Batch(b) })
	revision, staleRevision := j.Revision, stale.Revision
	j.Batches = 99
	stale.State = events.BatchCancelled
	change := jobs.NewChange(time.Now())
	change.Job(j, events.JobDone)
	change.Batch(&stale, events.BatchIsCancelled)
	if err := r.jobs.Commit(t.Context(), change); !jobs.IsConflict(err) {
		t.Fatalf("a stale commit: %v", err)
	}
	if j.Revision != revision || stale.Revision != staleRevision {
		t.Errorf("revisions moved to %d and %d", j.Revision, stale.Revision)
	}
	if got := r.job(); got.Batches != 0 || got.Revision != revision {
		t.Errorf("the job was changed: %+v", got)
	}
	if got := r.batch("1"); got.State != events.BatchUploaded {
		t.Errorf("the batch was changed: %+v", got)
	}
	if got := r.told(r.mark()); len(got) != 2 {
		t.Errorf("events %v, want those of the opening and the mark alone", got)
	}
}

func TestListsYieldEachStateOfTheirJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	other, err := r.jobs.Open(t.Context(), queue, job+"-2", jobs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	foreign := newBatch("1", events.BatchPlanned, 1)
	foreign.Job = other.Name()
	r.commit(func(c *jobs.Change) {
		c.Batch(newBatch("1", events.BatchPlanned, 1))
		c.Batch(newBatch("1-1", events.BatchPlanned, 1))
		c.Batch(foreign)
	})
	var names, mine, all []string
	for j, err := range r.jobs.Jobs(t.Context()) {
		names = append(names, fmt.Sprint(j.Name(), err))
	}
	for b, err := range r.jobs.Batches(t.Context(), queue, job) {
		mine = append(mine, fmt.Sprint(b.N, err))
	}
	for b, err := range r.jobs.AllBatches(t.Context()) {
		all = append(all, fmt.Sprint(b.StateKey(), err))
		if len(all) == 2 {
			break
		}
	}
	slices.Sort(names)
	slices.Sort(mine)
	if fmt.Sprint(names, mine) != "[nightly-2<nil> nightly<nil>] [1-1<nil> 1<nil>]" || len(all) != 2 {
		t.Errorf("%v %v %v", names, mine, all)
	}
}
