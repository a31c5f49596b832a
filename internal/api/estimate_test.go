package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/api"
	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/estimate"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/events"
)

// planned stores a batch of the job with the rows of the given bodies.
func (r *rig) planned(job, n string, state events.BatchState, bodies ...string) {
	r.t.Helper()
	var builder block.Builder
	entries := make([]manifest.Entry, len(bodies))
	group := events.GroupKey{Window: "24h", URL: "/v1/chat/completions", Model: "m"}
	for i, body := range bodies {
		tail := `,"method":"POST","url":"/v1/chat/completions","body":` + body + "}"
		e := block.Entry{CustomID: n + "-" + body, Sequence: 1, Line: i + 1, Group: group, Tail: []byte(tail), Size: len(tail)}
		copy(e.Row[:], n+body)
		builder.Add(&e)
		entries[i] = manifest.Entry{Place: events.RowPlace{Index: i}, Attempt: 1, Row: e.Row}
	}
	sequence, err := r.Store.Publish(r.t.Context(), &nats.Msg{Subject: events.RowsSubject(queue, job), Data: builder.Bytes()})
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range entries {
		entries[i].Place.Sequence = sequence
	}
	b := &jobs.Batch{Batch: events.Batch{Queue: queue, Job: job, N: n, State: state, GroupKey: group, Rows: len(bodies)}}
	if b.Manifest, err = manifest.Store(r.t.Context(), r.Store, b.StateKey(), entries); err != nil {
		r.t.Fatal(err)
	}
	change := jobs.NewChange(time.Now())
	change.Batch(b)
	if err := r.jobs.Commit(r.t.Context(), change); err != nil {
		r.t.Fatal(err)
	}
}

func TestWhatWaitsOfAJobIsEstimatedByItsRows(t *testing.T) {
	t.Parallel()
	table, err := prices.Parse([]byte(`[{"model":"m","input_per_million":"1","output_per_million":"2","currency":"USD"}]`))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, 0)
	r.replicaOf(api.Config{Prices: table})
	r.open("nightly")
	bounded, unbounded := `{"model":"m","max_tokens":100}`, `{"model":"m","messages":[]}`
	r.planned("nightly", "1", events.BatchPlanned, bounded, unbounded)
	r.planned("nightly", "2", events.BatchUploaded, bounded)
	r.planned("nightly", "3", events.BatchSubmitted, bounded) // it is sent: nothing is to be estimated
	got, err := r.client.Estimate(t.Context(), events.AskEstimate{JobRef: events.JobRef{Job: "nightly"}})
	if err != nil || len(got.Groups) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	var sum estimate.Sum
	for _, body := range []string{bounded, unbounded, bounded} {
		sum.Add(estimate.OfRow("/v1/chat/completions", []byte(body)))
	}
	want := sum.Tokens(estimate.DefaultOutputTokens)
	g := got.Groups[0]
	if g.Rows != 3 || g.InputTokens != want.PromptTokens || g.OutputTokens != want.CompletionTokens || g.OutputFrom != events.FromDefault || g.Model != "m" {
		t.Errorf("%+v, want %+v", g, want)
	}
	if cost := table.Cost("m", "24h", &want); g.Cost == nil || *g.Cost != *cost || g.Realtime != nil {
		t.Errorf("cost %+v, want %+v; realtime %+v", g.Cost, cost, g.Realtime)
	}
}

func TestRowsThatAreNotOnTheBusAreEstimatedByTheirTotals(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	got, err := r.client.Estimate(t.Context(), events.AskEstimate{Model: "m", Rows: 10, Bytes: 3000, OutputTokens: 70})
	if err != nil || len(got.Groups) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if g := got.Groups[0]; g.InputTokens != 1001+160 || g.OutputTokens != 70 || g.OutputFrom != events.FromBounds || g.Window != "24h" || g.Cost != nil {
		t.Errorf("%+v", g)
	}
	got, err = r.client.Estimate(t.Context(), events.AskEstimate{Model: "m", Rows: 10, Bytes: 3000})
	if err != nil || got.Groups[0].OutputTokens != 10*estimate.DefaultOutputTokens {
		t.Errorf("%+v, %v", got, err)
	}
	for _, q := range []events.AskEstimate{
		{}, {Model: "m"}, {Rows: -1}, {Rows: 1, Bytes: -1}, {JobRef: events.JobRef{Job: "nightly"}, Rows: 1}, {JobRef: events.JobRef{Queue: "a.b"}, Rows: 1},
	} {
		if _, err := r.client.Estimate(t.Context(), q); err == nil || strings.Contains(err.Error(), "no responders") {
			t.Errorf("%+v: %v", q, err)
		}
	}
}
