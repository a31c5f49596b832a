package refused_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/internal/refused"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
	"github.com/batchbus/batchbus/pkg/rows"
)

const queue, job = "default", "nightly"

func source(name string) block.Hash { return rows.HashRow([]byte(name)) }

// rig is a bus on which tests put what the services would.
type rig struct {
	*jetstoretest.Fixture
	*refused.Reader
	t *testing.T
}

func start(t *testing.T) *rig {
	t.Helper()
	f := jetstoretest.Start(t)
	return &rig{Fixture: f, Reader: &refused.Reader{Bus: f.Store, Jobs: jobs.New(f.Store)}, t: t}
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) open(queue, job string, how func(*events.Job)) {
	r.t.Helper()
	j, err := r.Jobs.Open(r.t.Context(), queue, job, jobs.Options{Policy: events.DefaultPolicy()})
	r.check(err)
	if how == nil {
		return
	}
	how(&j.Job)
	change := jobs.NewChange(time.Now())
	change.Job(&j)
	r.check(r.Jobs.Commit(r.t.Context(), change))
}

func (r *rig) store(m *nats.Msg) {
	r.t.Helper()
	_, err := r.Store.Publish(r.t.Context(), m)
	r.check(err)
}

func (r *rig) letter(job, code, customID string, at time.Time, payload []byte) {
	r.t.Helper()
	d := &events.DeadLetter{
		Code: code, CustomID: customID, Queue: queue, Job: job, Source: source(job + code + customID).String(), Line: 3, Sequence: 7, At: at, Payload: payload,
	}
	m, err := r.Store.Fit(r.t.Context(), jetstore.StreamDeadletters, messages.DeadLetter(d), messages.DeadLetterEnvelope(d))
	r.check(err)
	r.store(m)
}

// reject stores the rows in a block of the job, and for each a result.
func (r *rig) reject(job string, entries ...*block.Entry) {
	r.t.Helper()
	var b block.Builder
	for _, e := range entries {
		b.Add(e)
		r.result(job, e)
	}
	r.store(&nats.Msg{Subject: events.RowsSubject(queue, job), Data: b.Bytes()})
}

func (r *rig) result(job string, e *block.Entry) {
	why := &events.Error{Code: events.CodeRefusedRow, Message: "Line 1: no"}
	if e.Fault != nil {
		why = &events.Error{Code: e.Fault.Code, Message: e.Fault.Message, Line: e.Line}
	}
	r.store(messages.Result(&events.Result{
		CustomID: e.CustomID, Queue: queue, Job: job, Outcome: events.Rejected, Error: why, CompletedAt: time.Now(),
	}, e.Source))
}

// rejectBig stores one row by reference, as ingest does with one that no block can hold.
func (r *rig) rejectBig(job string, e *block.Entry) {
	r.t.Helper()
	var b block.Builder
	b.Add(e)
	subject := events.RowsSubject(queue, job)
	object, err := r.Store.PutObject(r.t.Context(), jetstore.StreamRows, subject, bytes.NewReader(b.Bytes()))
	r.check(err)
	m := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: block.Envelope(e)}
	object.SetHeader(m.Header)
	r.store(m)
	r.result(job, e)
}

func bad(id string, payload []byte) *block.Entry {
	return &block.Entry{
		Source: source("row " + id), ID: rows.HashID(id), Row: rows.HashRow(payload), CustomID: id, Sequence: 9, Line: 4,
		Fault: &block.Fault{Code: rows.CodeMissingBody, Message: "no body", Payload: payload},
	}
}

func good(id, tail string) *block.Entry {
	return &block.Entry{
		Source: source("row " + id), ID: rows.HashID(id), Row: rows.HashRow([]byte(tail)), CustomID: id, Sequence: 9, Line: 5,
		Group: events.GroupKey{Window: "24h", URL: "/v1/embeddings", Model: "m"}, Tail: []byte(tail),
	}
}

// entries are all that f takes, with payloads or without.
func (r *rig) entries(f refused.Filter, withPayload bool) (all []refused.Entry) {
	r.t.Helper()
	list := r.Entries
	if withPayload {
		list = r.WithPayloads
	}
	for e, err := range list(r.t.Context(), f) {
		r.check(err)
		all = append(all, e)
	}
	return all
}
