package collector_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

const (
	queue = "default"
	job   = "nightly"
	group = "m"
)

// world is one planned job with one submitted batch, and a provider made by hand.
type world struct {
	t      *testing.T
	f      *jetstoretest.Fixture
	jobs   *jobs.Store
	p      *fakeProvider
	out    *fakeFile
	errs   *fakeFile
	ids    []string
	opaque bool
}

// inWorld runs test in fake time with rows of the given ids.
func inWorld(t *testing.T, ids []string, test func(w *world)) {
	t.Helper()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		w := &world{t: t, f: f, jobs: jobs.New(f.Store), ids: ids, out: &fakeFile{}, errs: &fakeFile{}}
		w.p = &fakeProvider{files: map[string]*fakeFile{"out": w.out, "err": w.errs}, merge: &fakeFile{}}
		w.plan(func(*events.Batch) {})
		test(w)
	})
}

func named(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("row-%05d", i)
	}
	return ids
}

// plan stores blocks, manifest and states as ingest and submitter do.
func (w *world) plan(edit func(*events.Batch)) {
	w.t.Helper()
	entries := w.blocks()
	ref, err := manifest.Store(w.ctx(), w.f.Store, events.BatchKey(queue, job, "1"), entries)
	w.ok(err)
	policy := events.DefaultPolicy()
	policy.Retry = events.Retry{} // see retries
	j, err := w.jobs.Open(w.ctx(), queue, job, jobs.Options{Policy: policy})
	w.ok(err)
	b := jobs.Batch{Batch: events.Batch{
		Queue: queue, Job: job, N: "1", State: events.BatchSubmitted, GroupKey: events.GroupKey{Model: group}, Key: "default",
		Rows: len(entries), Manifest: ref, ProviderBatchID: "remote", OutputFileID: "out", ErrorFileID: "err", OpaqueIDs: w.opaque,
	}}
	edit(&b.Batch)
	w.p.batch = doubleword.Batch{ID: "remote", Status: doubleword.StatusInProgress}
	change := jobs.NewChange(time.Now())
	j.State, j.Batches, j.Rows = events.JobPlanned, 1, len(entries)
	change.Job(&j)
	change.Batch(&b, events.BatchIsSubmitted)
	w.ok(w.jobs.Commit(w.ctx(), change))
}

// blocks publishes the rows, 100 a block.
func (w *world) blocks() (entries []manifest.Entry) {
	w.t.Helper()
	for chunk := range slices.Chunk(w.ids, 100) {
		var b block.Builder
		for i, id := range chunk {
			b.Add(&block.Entry{CustomID: id, Row: hashOf(id), Source: hashOf("from " + id), Line: i + 1, Tail: []byte(`,"body":{}}`)})
		}
		seq, err := w.f.Store.Publish(w.ctx(), &nats.Msg{Subject: events.RowsSubject(queue, job), Data: b.Bytes()})
		w.ok(err)
		for i, id := range chunk {
			entries = append(entries, manifest.Entry{
				Place: events.RowPlace{Sequence: seq, Index: i}, Attempt: 1, Row: hashOf(id), Source: hashOf("from " + id),
			})
		}
	}
	return entries
}

func hashOf(s string) block.Hash { return messages.Source(block.Hash{}, 0, s) }

// wire is the wire id of the row at a place.
func (w *world) wire(place int) string { return manifest.WireID(place, w.ids[place], w.opaque) }

// answers puts a success for each place into the output file, in this order.
func (w *world) answers(places ...int) {
	w.p.change(func() {
		for _, place := range places {
			w.out.lines = append(w.out.lines, okLine(w.wire(place), answerBody("answer to "+w.ids[place], 10)))
		}
	})
}

// service is a collector on this world; it is not running.
func (w *world) service(edit func(*collector.Config)) *collector.Service {
	w.t.Helper()
	c := collector.Config{
		Bus: w.f.Store, Jobs: w.jobs, Log: zerolog.Nop(),
		Provider: func(string) (collector.Provider, bool) { return w.p, true },
	}
	if edit != nil {
		edit(&c)
	}
	s, err := collector.New(c)
	w.ok(err)
	return s
}

// collect collects once and returns the wait.
func (w *world) collect(s *collector.Service) time.Duration {
	w.t.Helper()
	wait, err := s.Collect(w.ctx(), queue, job, "1")
	w.ok(err)
	return wait
}

// untilSettled collects until nothing is to be waited for, and returns how long that took.
func (w *world) untilSettled(s *collector.Service) time.Duration {
	w.t.Helper()
	begin := time.Now()
	for range 50 {
		wait, err := s.Collect(w.ctx(), queue, job, "1")
		if err == nil && wait == 0 {
			break
		}
		if err != nil {
			wait = time.Second
		}
		pass(wait)
	}
	if b := w.batch(); b.State != events.BatchSettled {
		w.t.Fatalf("batch is %s: %s, %s", b.State, b.Why, b.LastError)
	}
	return time.Since(begin)
}

// pass lets fake time go by.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

// finish ends the batch at the provider, and the poller notices.
func (w *world) finish(status string, completed, failed int) {
	w.t.Helper()
	w.p.change(func() {
		w.p.batch.Status = status
		w.p.batch.Counts = doubleword.Counts{Total: len(w.ids), Completed: completed, Failed: failed}
	})
	w.edit(events.BatchIsFinished, func(b *events.Batch) {
		b.State, b.Status, b.Why, b.NextTryAt = events.BatchFinished, status, "", nil
		b.Counts = events.Counts{Total: len(w.ids), Completed: completed, Failed: failed}
	})
}

// edit changes the batch with an event.
func (w *world) edit(kind events.Kind, edit func(*events.Batch)) {
	w.t.Helper()
	b := w.batch()
	edit(&b.Batch)
	change := jobs.NewChange(time.Now())
	change.Batch(&b, kind)
	w.ok(w.jobs.Commit(w.ctx(), change))
}

func (w *world) batch() jobs.Batch { return w.batchOf("1") }

func (w *world) batchOf(n string) jobs.Batch {
	w.t.Helper()
	b, err := w.jobs.Batch(w.ctx(), queue, job, n)
	w.ok(err)
	return b
}

func (w *world) job() jobs.Job {
	w.t.Helper()
	j, err := w.jobs.Job(w.ctx(), queue, job)
	w.ok(err)
	return j
}

// editJob changes the job's state.
func (w *world) editJob(edit func(*events.Job)) {
	w.t.Helper()
	j := w.job()
	edit(&j.Job)
	change := jobs.NewChange(time.Now())
	change.Job(&j)
	w.ok(w.jobs.Commit(w.ctx(), change))
}

func (w *world) cursor() jobs.Cursor {
	w.t.Helper()
	b := w.batch()
	c, err := w.jobs.Cursor(w.ctx(), &b)
	w.ok(err)
	return c
}

// stored is a result as it stands in the stream.
type stored struct {
	events.Result
	header nats.Header
}

// results reads every result of the job, by custom_id. Two of one row fail the test.
func (w *world) results() map[string]stored {
	w.t.Helper()
	results := map[string]stored{}
	for m, err := range w.f.Store.Read(w.ctx(), jetstore.StreamResults, events.ResultsFilter(queue, job), 1) {
		w.ok(err)
		data := m.Data
		if o, external := jetstore.ObjectOf(m.Header); external {
			r, err := w.f.Store.OpenObject(w.ctx(), o)
			w.ok(err)
			data, err = io.ReadAll(r)
			w.ok(err)
			w.ok(r.Close())
		}
		result, err := events.ParseResult(data)
		w.ok(err)
		if _, twice := results[result.CustomID]; twice {
			w.t.Fatalf("two results for %s", result.CustomID)
		}
		results[result.CustomID] = stored{Result: result, header: m.Header}
	}
	return results
}

// outcomes counts the results by outcome and code.
func (w *world) outcomes() map[string]int {
	w.t.Helper()
	n := map[string]int{}
	for _, r := range w.results() {
		key := string(r.Outcome)
		if r.Error != nil {
			key += " " + r.Error.Code
		}
		n[key]++
	}
	return n
}

// events reads the notes of all events of a kind.
func (w *world) events(kind events.Kind) (notes []string) {
	w.t.Helper()
	filter := events.PrefixEvents + string(kind) + ".>"
	for m, err := range w.f.Store.Read(w.ctx(), jetstore.StreamJobs, filter, 1) {
		w.ok(err)
		e, err := events.ParseEvent(m.Data)
		w.ok(err)
		notes = append(notes, e.Note)
	}
	return notes
}

func (w *world) ctx() context.Context { return w.t.Context() }

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) want(what string, got, want any) {
	w.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
