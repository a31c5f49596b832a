package audit_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
	"github.com/batchbus/batchbus/pkg/rows"
)

const queue, job = "default", "nightly"

func hash(text string) block.Hash { return rows.HashRow([]byte(text)) }

// world is a completed job as the services leave it, to be doctored before it is stored: rows a, b and "c d" are good, "refused" is not, a comes
// again from another source, and row b is answered by a follow-up.
type world struct {
	job     jobs.Job
	batches []*jobs.Batch
	entries map[string][]manifest.Entry // by batch
	cursors map[string]events.Bits
	results []*nats.Msg
	letters []*nats.Msg
	noSeal  bool
}

var group = events.GroupKey{Window: "24h", URL: "/v1/chat/completions", Model: "m"}

func entry(source, customID string) *block.Entry {
	return &block.Entry{
		Source: hash(source), ID: rows.HashID(customID), Row: hash("row " + customID), CustomID: customID, Line: 1, Group: group, Tail: []byte(`}`),
	}
}

func result(source, customID string, outcome events.Outcome) *nats.Msg {
	r := events.Result{CustomID: customID, Queue: queue, Job: job, Outcome: outcome, CompletedAt: time.Now()}
	if outcome == events.Succeeded {
		r.Usage = &events.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3}
	}
	return messages.Result(&r, hash(source))
}

func deadLetter(source, customID, code string) *nats.Msg {
	return messages.DeadLetter(&events.DeadLetter{
		Code: code, CustomID: customID, Queue: queue, Job: job, Source: hash(source).String(), Payload: []byte("{}"),
	})
}

// stored are the rows of the world in their order.
func stored() []*block.Entry {
	refused := entry("4", "refused")
	refused.Fault = &block.Fault{Code: "url_not_allowed"}
	return []*block.Entry{entry("1", "a"), entry("2", "b"), entry("3", "c d"), refused, entry("5", "a"), entry("1", "a")}
}

func place(sequence uint64, index int, source, customID string) manifest.Entry {
	return manifest.Entry{
		Place: events.RowPlace{Sequence: sequence, Index: index}, Attempt: 1, Row: hash("row " + customID), Source: hash(source),
	}
}

func succeeded(n int) events.Totals {
	t := int64(n)
	return events.Totals{Rows: n, Succeeded: n, Usage: events.Usage{PromptTokens: t, CompletionTokens: 2 * t, TotalTokens: 3 * t}}
}

func batch(n, parent string, rows int, totals events.Totals, followUps ...string) *jobs.Batch {
	return &jobs.Batch{Batch: events.Batch{
		Queue: queue, Job: job, N: n, Parent: parent, State: events.BatchSettled, GroupKey: group, Rows: rows, Totals: &totals,
		FollowUps: followUps, Digest: "digest " + n, ProviderBatchID: "remote-" + n,
	}}
}

func bits(places ...int) events.Bits {
	b := events.NewBits(3)
	for _, place := range places {
		b.Set(place)
	}
	return b
}

func newWorld() *world {
	totals := succeeded(3)
	totals.Add(events.Totals{Rows: 1, Rejected: 1})
	a, b, c := place(1, 0, "1", "a"), place(1, 1, "2", "b"), place(1, 2, "3", "c d")
	now := time.Now()
	return &world{
		job: jobs.Job{Job: events.Job{
			Queue: queue, Job: job, State: events.JobCompleted, SinceAt: now, OpenedAt: now, Policy: events.DefaultPolicy(),
			Batches: 1, FollowUps: 1, Rows: 4, Rejected: 1, Totals: &totals, ExpectedRows: new(6),
		}},
		batches: []*jobs.Batch{batch("1", "", 3, succeeded(2), "1-1"), batch("1-1", "1", 1, succeeded(1))},
		entries: map[string][]manifest.Entry{"1": {a, b, c}, "1-1": {b}},
		cursors: map[string]events.Bits{"1": bits(0, 2), "1-1": bits(0)},
		results: []*nats.Msg{
			result("1", "a", events.Succeeded), result("2", "b", events.Succeeded), result("3", "c d", events.Succeeded),
			result("4", "refused", events.Rejected),
		},
		letters: []*nats.Msg{deadLetter("5", "a", events.DLDuplicate), deadLetter("x", "", "not_json")},
	}
}

// store puts the world on the bus.
func (w *world) store(t *testing.T, f *jetstoretest.Fixture) {
	t.Helper()
	var b block.Builder
	for _, e := range stored() {
		b.Add(e)
	}
	publish(t, f, &nats.Msg{Subject: events.RowsSubject(queue, job), Data: b.Bytes()})
	if !w.noSeal {
		publish(t, f, &nats.Msg{Subject: events.RowsSubject(queue, job), Data: block.Seal(nil, 0)})
	}
	for _, m := range append(w.results, w.letters...) {
		publish(t, f, m)
	}
	last, err := f.Store.Last(t.Context(), jetstore.StreamRows, events.RowsSubject(queue, job))
	if err != nil {
		t.Fatal(err)
	}
	if w.job.Walked.Sequence == 0 {
		w.job.Walked = events.Place{Sequence: last.Sequence, At: last.At}
	}
	change := jobs.NewChange(time.Now())
	change.Job(&w.job)
	for _, b := range w.batches {
		if b.Manifest, err = manifest.Store(t.Context(), f.Store, b.StateKey(), w.entries[b.N]); err != nil {
			t.Fatal(err)
		}
		change.Batch(b)
		cursor := jobs.Cursor{Queue: queue, Job: job, N: b.N, Cursor: events.Cursor{Settled: w.cursors[b.N], Totals: *b.Totals}}
		change.Cursor(&cursor)
	}
	if err := jobs.New(f.Store).Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, f *jetstoretest.Fixture, m *nats.Msg) {
	t.Helper()
	if _, err := f.Store.Publish(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}
