package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
	"github.com/batchbus/batchbus/pkg/rows"
)

const queue, job = "default", "nightly"

// rig is a server and a store on it, for one job.
type rig struct {
	t *testing.T
	*jetstoretest.Fixture
	jobs *jobs.Store
}

func newRig(t *testing.T) *rig {
	t.Helper()
	f := jetstoretest.Start(t)
	return &rig{t, f, jobs.New(f.Store)}
}

func (r *rig) open() *jobs.Job {
	r.t.Helper()
	j, err := r.jobs.Open(r.t.Context(), queue, job, jobs.Options{Policy: events.DefaultPolicy()})
	if err != nil {
		r.t.Fatal(err)
	}
	return &j
}

func (r *rig) commit(fill func(c *jobs.Change)) {
	r.t.Helper()
	c := jobs.NewChange(time.Now())
	fill(c)
	if err := r.jobs.Commit(r.t.Context(), c); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) job() jobs.Job {
	r.t.Helper()
	j, err := r.jobs.Job(r.t.Context(), queue, job)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

func (r *rig) batch(n string) jobs.Batch {
	r.t.Helper()
	b, err := r.jobs.Batch(r.t.Context(), queue, job, n)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// newBatch is a batch that was never stored.
func newBatch(n string, state events.BatchState, rows int) *jobs.Batch {
	return &jobs.Batch{Batch: events.Batch{
		Queue: queue, Job: job, N: n, State: state, SinceAt: time.Unix(1, 0).UTC(), GroupKey: group, Key: "k", Organization: "org",
		Rows: rows, OpaqueIDs: n == "opaque",
	}}
}

var group = events.GroupKey{Window: "24h", URL: "/v1/embeddings", Model: "m"}

// told reads the events stream up to the first event of kind last, the only one of its kind, and returns "<kind> <id>" of all.
func (r *rig) told(last events.Kind) []string {
	r.t.Helper()
	consumer, err := r.Store.JetStream().OrderedConsumer(r.t.Context(), jetstore.StreamEvents, jetstream.OrderedConsumerConfig{})
	if err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for {
		m, err := consumer.Next(jetstream.FetchMaxWait(20 * time.Second))
		if err != nil {
			r.t.Fatalf("%s was not told after %v: %v", last, all, err)
		}
		e, err := events.ParseEvent(m.Data())
		if err != nil || e.Subject() != m.Subject() {
			r.t.Fatalf("%s holds %s, %v", m.Subject(), m.Data(), err)
		}
		all = append(all, fmt.Sprintf("%s %s", e.Kind, e.ID))
		if e.Kind == last {
			return all
		}
	}
}

// mark tells an event by which told knows that no other is under way.
func (r *rig) mark() events.Kind {
	r.t.Helper()
	j := r.job()
	r.commit(func(c *jobs.Change) { c.JobEvent(&j, events.JobHeld, "") })
	return events.JobHeld
}

// plant stores a block with a row for each id and returns what a manifest says of them.
func (r *rig) plant(ids ...string) []manifest.Entry {
	r.t.Helper()
	var b block.Builder
	planted := make([]manifest.Entry, len(ids))
	for i, id := range ids {
		tail := []byte(`,"body":{"input":"` + strings.Repeat(id, i+1) + `"}}`)
		e := &block.Entry{Source: block.Hash{1, byte(i)}, ID: rows.HashID(id), Row: rows.HashRow(tail), CustomID: id, Group: group, Tail: tail}
		b.Add(e)
		planted[i] = manifest.Entry{Attempt: 1, Row: e.Row, Source: e.Source, Place: events.RowPlace{Index: i}}
	}
	sequence, err := r.Store.Publish(r.t.Context(), &nats.Msg{Subject: events.RowsSubject(queue, job), Data: b.Bytes()})
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range planted {
		planted[i].Place.Sequence = sequence
	}
	return planted
}

// interposed is a bus on which something happens before a call.
type interposed struct {
	*jetstore.Store
	beforeCommit func()
	afterGet     func(key string)
}

func (b *interposed) Get(ctx context.Context, key string) (jetstore.Entry, error) {
	entry, err := b.Store.Get(ctx, key)
	if b.afterGet != nil {
		b.afterGet(key)
	}
	return entry, err
}

func (b *interposed) Commit(ctx context.Context, changes ...jetstore.Change) ([]uint64, error) {
	if b.beforeCommit != nil {
		b.beforeCommit()
	}
	return b.Store.Commit(ctx, changes...)
}
