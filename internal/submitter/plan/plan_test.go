package plan_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestABatchIsCutAtExactlyThePolicysRows(t *testing.T) {
	t.Parallel()
	b := start(t, events.DefaultMaxRowsPerBatch)
	p := b.planner()
	b.rows(49_999)
	b.plan(p)
	if sizes := b.sizes(); len(sizes) != 0 {
		t.Fatalf("49,999 rows: batches %v", sizes)
	}
	b.rows(1)
	b.plan(p)
	if sizes := b.sizes(); !maps.Equal(sizes, map[string]int{"1": 50_000}) {
		t.Fatalf("50,000 rows: batches %v, want one before the seal", sizes)
	}
	b.rows(1)
	b.seal(50_001)
	b.plan(p)
	if sizes := b.sizes(); !maps.Equal(sizes, map[string]int{"1": 50_000, "2": 1}) {
		t.Fatalf("50,001 rows: batches %v", sizes)
	}
	if state := b.state(); state.State != events.JobPlanned || state.Rows != 50_001 || state.Batches != 2 || b.once() != 50_001 {
		t.Errorf("job is %+v", state.Job)
	}
	if e, found := b.event(events.JobFullyPlanned); !found || e.Note != "" || e.JobState.State != events.JobPlanned {
		t.Errorf("event %v %+v", found, e)
	}
}

func TestEachPlannedBatchHasItsEvent(t *testing.T) {
	t.Parallel()
	b := start(t, 2)
	b.block(b.row("a", ""), b.row("b", ""), b.row("c", ""))
	sealed := b.seal(4)
	b.plan(b.planner())
	count, err := b.Store.SubjectCounts(b.ctx, jetstore.StreamJobs, events.PrefixEvents+string(events.BatchIsPlanned)+".>")
	b.check(err)
	if len(count) != 2 {
		t.Errorf("events %v", count)
	}
	e, _ := b.event(events.JobFullyPlanned)
	if e.Note != "expected 4 rows, found 3" || *e.JobState.ExpectedRows != 4 {
		t.Errorf("event says %q", e.Note)
	}
	m, err := b.Store.At(b.ctx, jetstore.StreamRows, sealed)
	b.check(err)
	state := b.state()
	if !state.SealedAt.Equal(m.At) || state.Walked.Sequence != sealed || !state.Walked.At.Equal(m.At) {
		t.Errorf("sealed at %v, walked to %v; the seal is at %d %v", state.SealedAt, state.Walked, sealed, m.At)
	}
	batch, err := b.jobs.Batch(b.ctx, queue, job, "1")
	b.check(err)
	if batch.State != events.BatchPlanned || batch.Key != "default" || batch.Model != "m" || batch.Revision == 0 {
		t.Errorf("batch is %+v", batch)
	}
}

func TestEveryGroupIsCutInTheSealsOnePublish(t *testing.T) {
	t.Parallel()
	b := start(t, 10)
	for n := range events.MaxGroups + 1 {
		e := b.row(fmt.Sprint("row ", n), "")
		e.Group.Model = fmt.Sprint("model ", n)
		b.block(e)
	}
	b.seal()
	b.plan(b.planner())
	if state := b.state(); state.State != events.JobPlanned || state.Batches != events.MaxGroups || b.once() != events.MaxGroups {
		t.Errorf("job is %+v", state.Job)
	}
	if r := b.results()["row 64"]; r.Outcome != events.Rejected || r.Error.Code != events.CodeTooManyGroups {
		t.Errorf("the row of the 65th group: %+v", r)
	}
	var first, last uint64
	for batch, err := range b.jobs.Batches(b.ctx, queue, job) {
		b.check(err)
		if first == 0 || batch.Revision < first {
			first = batch.Revision
		}
		last = max(last, batch.Revision)
	}
	// Revisions of one publish follow each other: batch and event by turns, then the job.
	if last-first != 2*(events.MaxGroups-1) || b.state().Revision != last+2 {
		t.Errorf("batches have revisions %d to %d, the job %d", first, last, b.state().Revision)
	}
}

func TestSecondComersAndRefusalsAreAnswered(t *testing.T) {
	t.Parallel()
	b := start(t, 10)
	first, refused := b.row("a", "x"), b.refused("bad")
	b.block(first, refused)
	b.block(first, refused, b.row("a", "x"), b.row("a", "y\\n"), b.refused("a"), b.row("bad", "now good"))
	b.seal()
	b.plan(b.planner())
	got := make(map[int]events.DeadLetter)
	for _, d := range b.letters() {
		got[d.Line] = d
	}
	if len(got) != 4 || got[3].Code != events.DLDuplicate || got[4].Code != events.DLConflict || got[5].Code != events.DLConflict ||
		got[6].Code != events.DLConflict {
		t.Fatalf("dead letters %+v", got)
	}
	d := got[4]
	if d.First == nil || *d.First != (events.Origin{Sequence: 1, Line: 1}) || d.Subject != "batchbus.requests.default.nightly" {
		t.Errorf("first %v, subject %s", d.First, d.Subject)
	}
	want := `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m","text":"y\n"}}`
	if string(d.Payload) != want {
		t.Errorf("payload %s, want %s", d.Payload, want)
	}
	if string(got[5].Payload) != `{"custom_id":"a"}` {
		t.Errorf("a refused row's payload is %s", got[5].Payload)
	}
	results := b.results()
	r := results["bad"]
	wantError := events.Error{Code: "missing_model", Message: "no model", Hint: "name one", Line: 2, Column: 7}
	if len(results) != 1 || r.Outcome != events.Rejected || *r.Error != wantError || r.Attempt != 0 || r.Batch != "" {
		t.Errorf("results %+v", results)
	}
	if state := b.state(); state.Rows != 2 || state.Rejected != 1 {
		t.Errorf("job is %+v", state.Job)
	}
}

func TestAJobWithoutABatchCompletesAtOnce(t *testing.T) {
	t.Parallel()
	b := start(t, 10)
	b.block(b.refused("a"), b.refused("b"))
	b.seal()
	b.plan(b.planner())
	if state := b.state(); state.State != events.JobCompleted || *state.Totals != (events.Totals{Rows: 2, Rejected: 2}) {
		t.Errorf("job is %+v with %+v", state.Job, state.Totals)
	}
	_, err := b.jobs.Open(b.ctx, queue, "empty", jobs.Options{Policy: events.DefaultPolicy()})
	b.check(err)
	b.store(&nats.Msg{Subject: events.RowsSubject(queue, "empty"), Data: block.Seal(nil, 0)})
	b.check(b.planner().Plan(b.ctx, queue, "empty"))
	if state, err := b.jobs.Job(b.ctx, queue, "empty"); err != nil || state.State != events.JobCompleted {
		t.Errorf("a lone seal: %+v, %v", state.Job, err)
	}
}

func TestARestartInTheMiddleGoesOnWhereTheOtherStopped(t *testing.T) {
	t.Parallel()
	b := start(t, 100)
	for range 5 {
		b.block(b.row(fmt.Sprint("a", b.line), ""), b.refused(fmt.Sprint("r", b.line)), b.row("twice", strconv.Itoa(b.line)))
		b.rows(77)
		b.plan(b.planner()) // a new process each time
	}
	b.seal()
	b.plan(b.planner())
	state := b.state()
	if n := b.once(); n != 5+1+5*77 || state.Rows != n+5 || state.Rejected != 5 || len(b.letters()) != 4 || len(b.results()) != 5 {
		t.Errorf("%d rows in batches, %d letters, %d results: %+v", n, len(b.letters()), len(b.results()), state.Job)
	}
	for n, size := range b.sizes() {
		if size != 100 && n != strconv.Itoa(state.Batches) {
			t.Errorf("batch %s has %d rows", n, size)
		}
	}
}

func TestTwoPlannersAtTheSameJobPlanEachRowOnce(t *testing.T) {
	t.Parallel()
	b := start(t, 50)
	stopA, stopB := b.run(b.planner()), b.run(b.planner())
	defer stopA()
	defer stopB()
	for range 40 {
		b.rows(23)
		b.block(b.row("twice", strconv.Itoa(b.line)), b.refused(fmt.Sprint("r", b.line)))
	}
	b.seal()
	b.until("planned", func() bool { return b.state().State == events.JobPlanned })
	if n := b.once(); n != 40*23+1 || len(b.letters()) != 39 || len(b.results()) != 40 {
		t.Errorf("%d rows in batches, %d dead letters, %d results", n, len(b.letters()), len(b.results()))
	}
	if state := b.state(); state.Rows != 40*24+1 || state.Rejected != 40 || len(b.batches()) != state.Batches || state.Batches != 19 {
		t.Errorf("job is %+v", state.Job)
	}
}

func TestARowTooBigForAMessageIsADeadLetterWithAnObject(t *testing.T) {
	t.Parallel()
	b := start(t, 10)
	big := strings.Repeat("x", 9<<20)
	b.block(b.row("a", ""))
	e := b.row("a", big)
	var builder block.Builder
	builder.Add(e)
	m, err := b.Store.Fit(b.ctx, jetstore.StreamRows, &nats.Msg{Subject: events.RowsSubject(queue, job), Data: builder.Bytes()}, block.Envelope(e))
	b.check(err)
	b.store(m)
	b.plan(b.planner())
	for m, err := range b.Store.Read(b.ctx, jetstore.StreamDeadletters, events.DeadlettersFilter(queue, job), 1) {
		b.check(err)
		object, external := jetstore.ObjectOf(m.Header)
		if !external {
			t.Fatal("no object")
		}
		d, err := events.ParseDeadLetter(b.read(object))
		b.check(err)
		if d.Code != events.DLConflict || string(d.Payload) != `{"custom_id":"a"`+string(e.Tail) {
			t.Errorf("dead letter %s with a payload of %d bytes", d.Code, len(d.Payload))
		}
		return
	}
	t.Error("no dead letter")
}

func TestThirtyThousandRowsTakeSeconds(t *testing.T) {
	t.Parallel()
	b := start(t, 10_000)
	b.rows(30_000)
	b.seal()
	began := time.Now()
	b.plan(b.planner())
	took := time.Since(began)
	t.Logf("30,000 rows planned in %v", took)
	if took > 20*time.Second || b.once() != 30_000 {
		t.Errorf("planned in %v: %v", took, b.sizes())
	}
}
