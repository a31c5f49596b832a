package plan_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/submitter/plan"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

const (
	queue = "default"
	job   = "nightly"
)

// bench is a bus with one job on it.
type bench struct {
	*jetstoretest.Fixture
	t    *testing.T
	ctx  context.Context //nolint:containedctx // a test's
	jobs *jobs.Store
	line int
}

func newBench(t *testing.T, f *jetstoretest.Fixture) *bench {
	t.Helper()
	return &bench{Fixture: f, t: t, ctx: t.Context(), jobs: jobs.New(f.Store)}
}

// start opens the job under a policy with the given rows per batch.
func start(t *testing.T, rowsPerBatch int) *bench {
	t.Helper()
	b := newBench(t, jetstoretest.Start(t))
	policy := events.DefaultPolicy()
	policy.MaxRowsPerBatch = rowsPerBatch
	_, err := b.jobs.Open(b.ctx, queue, job, jobs.Options{Policy: policy})
	b.check(err)
	return b
}

func (b *bench) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// planner returns a planner without an index, as a process has it that has just started.
func (b *bench) planner() *plan.Planner {
	b.t.Helper()
	p, err := plan.New(plan.Config{
		Bus: b.Store, Jobs: b.jobs, Log: zerolog.New(zerolog.NewTestWriter(b.t)),
		SweepInterval: 20 * time.Millisecond, HandoffDelay: 20 * time.Millisecond, DrainTimeout: time.Second,
	})
	b.check(err)
	return p
}

func (b *bench) plan(p *plan.Planner) {
	b.t.Helper()
	b.check(p.Plan(b.ctx, queue, job))
}

func hashOf(text string) (h block.Hash) {
	sum := sha256.Sum256([]byte(text))
	copy(h[:], sum[:])
	return h
}

// row is the next published line: a good row with the given id and body text.
func (b *bench) row(id, text string) *block.Entry {
	b.line++
	e := &block.Entry{
		Source: hashOf("source " + strconv.Itoa(b.line)), ID: hashOf("id " + id), Row: hashOf("row " + id + text),
		CustomID: id, Sequence: 1, Line: b.line,
		Group: events.GroupKey{Window: "24h", URL: "/v1/chat/completions", Model: "m"},
		Tail:  []byte(`,"method":"POST","url":"/v1/chat/completions","body":{"model":"m","text":"` + text + `"}}`),
	}
	e.Size = len(e.Tail)
	return e
}

func (b *bench) refused(id string) *block.Entry {
	e := b.row(id, "refused")
	e.Fault = &block.Fault{Code: "missing_model", Message: "no model", Hint: "name one", Column: 7, Payload: []byte(`{"custom_id":"` + id + `"}`)}
	e.Group, e.Tail = events.GroupKey{}, nil
	return e
}

func (b *bench) block(entries ...*block.Entry) uint64 {
	b.t.Helper()
	var builder block.Builder
	for _, e := range entries {
		builder.Add(e)
	}
	return b.store(&nats.Msg{Subject: events.RowsSubject(queue, job), Data: builder.Bytes()})
}

func (b *bench) store(m *nats.Msg) uint64 {
	b.t.Helper()
	sequence, err := b.Store.Publish(b.ctx, m)
	b.check(err)
	return sequence
}

// rows stores n good rows in blocks of 4096.
func (b *bench) rows(n int) {
	b.t.Helper()
	var builder block.Builder
	for i := range n {
		builder.Add(b.row(fmt.Sprintf("row-%07d", b.line), "x"))
		if builder.Len() == 4096 || i == n-1 {
			b.store(&nats.Msg{Subject: events.RowsSubject(queue, job), Data: builder.Bytes()})
			builder = block.Builder{}
		}
	}
}

func (b *bench) seal(expected ...int) uint64 {
	b.t.Helper()
	data := block.Seal(nil, 0)
	if len(expected) > 0 {
		data = block.Seal(&expected[0], 0)
	}
	return b.store(&nats.Msg{Subject: events.RowsSubject(queue, job), Data: data})
}

func (b *bench) state() jobs.Job {
	b.t.Helper()
	state, err := b.jobs.Job(b.ctx, queue, job)
	b.check(err)
	return state
}

// change changes the job's state as somebody else does.
func (b *bench) change(how func(j *events.Job)) {
	b.t.Helper()
	state := b.state()
	how(&state.Job)
	change := jobs.NewChange(time.Now())
	change.Job(&state)
	b.check(b.jobs.Commit(b.ctx, change))
}

// batches returns the ids of each batch's rows, by batch number, and checks each batch against its manifest.
func (b *bench) batches() map[string][]string {
	b.t.Helper()
	found := make(map[string][]string)
	for state, err := range b.jobs.Batches(b.ctx, queue, job) {
		b.check(err)
		entries, err := manifest.Load(b.ctx, b.Store, state.Manifest)
		b.check(err)
		digest, bytes := manifest.NewDigest(state.GroupKey), int64(0)
		ids := make([]string, 0, len(entries))
		for row, err := range manifest.Rows(b.ctx, b.Store, queue, job, entries) {
			b.check(err)
			ids = append(ids, row.CustomID)
			digest.Add(row.CustomID, row.Row)
			bytes += int64(len(manifest.AppendLine(nil, row.Place, row.Entry, state.OpaqueIDs)))
		}
		if len(ids) != state.Rows || bytes != state.Bytes || digest.Sum() != state.Digest {
			b.t.Errorf("batch %s says %d rows, %d bytes; its manifest %d, %d", state.N, state.Rows, state.Bytes, len(ids), bytes)
		}
		found[state.N] = ids
	}
	return found
}

// sizes returns the number of rows of each batch.
func (b *bench) sizes() map[string]int {
	b.t.Helper()
	sizes := make(map[string]int)
	for n, ids := range b.batches() {
		sizes[n] = len(ids)
	}
	return sizes
}

// once fails when a row is in two batches, and returns how many are in one.
func (b *bench) once() int {
	b.t.Helper()
	seen := make(map[string]string)
	for n, ids := range b.batches() {
		for _, id := range ids {
			if other := seen[id]; other != "" {
				b.t.Fatalf("row %s is in batches %s and %s", id, other, n)
			}
			seen[id] = n
		}
	}
	return len(seen)
}

func (b *bench) letters() []events.DeadLetter {
	b.t.Helper()
	var found []events.DeadLetter
	for m, err := range b.Store.Read(b.ctx, jetstore.StreamDeadletters, events.DeadlettersFilter(queue, job), 1) {
		b.check(err)
		d, err := events.ParseDeadLetter(m.Data)
		b.check(err)
		found = append(found, d)
	}
	return found
}

func (b *bench) results() map[string]events.Result {
	b.t.Helper()
	found := make(map[string]events.Result)
	for m, err := range b.Store.Read(b.ctx, jetstore.StreamResults, events.ResultsFilter(queue, job), 1) {
		b.check(err)
		r, err := events.ParseResult(m.Data)
		b.check(err)
		found[r.CustomID] = r
	}
	return found
}

// event returns the newest event of a kind.
func (b *bench) event(kind events.Kind) (events.Event, bool) {
	b.t.Helper()
	m, err := b.Store.Last(b.ctx, jetstore.StreamJobs, events.PrefixEvents+string(kind)+"."+queue+"."+job+".*")
	if errors.Is(err, jetstore.ErrNotFound) {
		return events.Event{}, false
	}
	b.check(err)
	e, err := events.ParseEvent(m.Data)
	b.check(err)
	return e, true
}
