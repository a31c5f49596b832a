package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/ingest"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// rig is a bus with publishers and replicas of ingest on it.
type rig struct {
	*jetstoretest.Fixture
	t    *testing.T
	jobs *jobs.Store
}

func newRig(t *testing.T, f *jetstoretest.Fixture) *rig {
	t.Helper()
	return &rig{Fixture: f, t: t, jobs: jobs.New(f.Store)}
}

// run starts a replica and returns what stops it.
func (r *rig) run(change func(*ingest.Config)) (stop func()) {
	r.t.Helper()
	c := ingest.Config{Bus: r.Store, Jobs: r.jobs, Log: zerolog.New(zerolog.NewTestWriter(r.t)).Level(zerolog.WarnLevel)}
	if change != nil {
		change(&c)
	}
	s, err := ingest.New(c)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	}
}

// publish stores a request and returns its sequence. Headers are pairs.
func (r *rig) publish(subject, data string, headers ...string) uint64 {
	r.t.Helper()
	m := &nats.Msg{Subject: "batchbus.requests." + subject, Header: nats.Header{}, Data: []byte(data)}
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	sequence, err := r.Store.Publish(context.Background(), m)
	if err != nil {
		r.t.Fatal(err)
	}
	return sequence
}

// eventually waits for a condition on the bus.
func (r *rig) eventually(what string, patience time.Duration, holds func() bool) {
	r.t.Helper()
	tick := time.NewTicker(patience / 5000)
	defer tick.Stop()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			r.t.Fatal("waited in vain until " + what)
		}
		<-tick.C
	}
}

// ingested waits until no request is left.
func (r *rig) ingested() {
	r.t.Helper()
	r.ingestedWithin(2 * time.Minute)
}

func (r *rig) ingestedWithin(patience time.Duration) {
	r.t.Helper()
	r.eventually("every request is ingested", patience, func() bool { return !r.left("batchbus.requests.>") })
}

func (r *rig) left(subject string) bool {
	r.t.Helper()
	counts, err := r.Store.SubjectCounts(context.Background(), jetstore.StreamRequests, subject)
	if err != nil {
		r.t.Fatal(err)
	}
	return len(counts) > 0
}

// stored is what stands in ROWS for a job, in order; a seal is the entry nil.
func (r *rig) stored(queue, job string) []*block.Entry {
	r.t.Helper()
	var all []*block.Entry
	for m, err := range r.Store.Read(context.Background(), jetstore.StreamRows, events.RowsSubject(queue, job), 1) {
		if err != nil {
			r.t.Fatal(err)
		}
		if _, sealed := block.ReadSeal(m.Data); sealed {
			all = append(all, nil)
		}
		for e, err := range block.Read(m.Data) {
			if err != nil {
				r.t.Fatal(err)
			}
			one := *e
			all = append(all, &one)
		}
	}
	return all
}

// names lists entries as custom_id, custom_id!code for a refused one, and "seal".
func names(entries []*block.Entry) string {
	list := make([]string, len(entries))
	for i, e := range entries {
		switch {
		case e == nil:
			list[i] = "seal"
		case e.Fault != nil:
			list[i] = e.CustomID + "!" + e.Fault.Code
		default:
			list[i] = e.CustomID
		}
	}
	return strings.Join(list, " ")
}

func (r *rig) want(queue, job, want string) {
	r.t.Helper()
	if got := names(r.stored(queue, job)); got != want {
		r.t.Errorf("%s/%s holds %q, want %q", queue, job, got, want)
	}
}

// deadLetters are those on a filter below batchbus.deadletters.
func (r *rig) deadLetters(filter string) []events.DeadLetter {
	r.t.Helper()
	var all []events.DeadLetter
	for m, err := range r.Store.Read(context.Background(), jetstore.StreamDeadletters, "batchbus.deadletters."+filter, 1) {
		if err != nil {
			r.t.Fatal(err)
		}
		d, err := events.ParseDeadLetter(m.Data)
		if err != nil || m.Subject != events.DeadletterSubject(d.Queue, d.Job, d.Source) {
			r.t.Fatal(m.Subject, err)
		}
		all = append(all, d)
	}
	return all
}

func (r *rig) wantDeadLetter(filter, code, payload string) events.DeadLetter {
	r.t.Helper()
	all := r.deadLetters(filter)
	if len(all) != 1 || all[0].Code != code || string(all[0].Payload) != payload {
		r.t.Fatalf("%s: got %d dead letters %.300v, want one %s with payload %.100q", filter, len(all), all, code, payload)
	}
	return all[0]
}

func (r *rig) job(queue, job string) (events.Job, bool) {
	r.t.Helper()
	j, err := r.jobs.Job(context.Background(), queue, job)
	if err != nil && !errors.Is(err, jetstore.ErrNotFound) {
		r.t.Fatal(err)
	}
	return j.Job, err == nil
}

func row(id string) string { return rowWith(id, "x") }

func rowWith(id, input string) string {
	return fmt.Sprintf(`{"custom_id":"%s","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"%s"}}`, id, input)
}

func tailWith(input string) string {
	return fmt.Sprintf(`,"method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"%s"}}`, input)
}
