package jetstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// effects is a probe that keeps what it hears.
type effects struct {
	mu    sync.Mutex
	heard []string
}

func (e *effects) probe(effect jetstore.Effect) (after func()) {
	what := fmt.Sprintf("%s %s", effect.Verb, strings.Join(effect.Subjects, " "))
	e.add("before " + what)
	return func() { e.add("after " + what) }
}

func (e *effects) add(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, what)
}

func (e *effects) want(t *testing.T, want ...string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(e.heard, want) {
		t.Errorf("the probe heard\n%s\nwant\n%s", strings.Join(e.heard, "\n"), strings.Join(want, "\n"))
	}
	e.heard = nil
}

func TestAProbeHearsOfEveryEffectBeforeAndAfter(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	var e effects
	store := f.Store.Probed(e.probe)
	rows := func() *nats.Msg { return &nats.Msg{Subject: "batchbus.rows.q.j", Data: []byte("x")} }

	if _, err := store.Publish(t.Context(), rows()); err != nil {
		t.Fatal(err)
	}
	e.want(t, "before publish batchbus.rows.q.j", "after publish batchbus.rows.q.j")

	w := store.NewWindow(2)
	settled := func(jetstore.Ack) { e.add("settled") }
	if err := w.Publish(t.Context(), rows(), settled); err != nil {
		t.Fatal(err)
	}
	e.add("sent")
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.want(t, "before publish batchbus.rows.q.j", "sent", "after publish batchbus.rows.q.j", "settled")

	a, b := jetstore.KeySubject("job.q.a"), jetstore.KeySubject("job.q.b")
	if _, err := store.Commit(t.Context(), jetstore.Change{Subject: a}, jetstore.Change{Subject: b}); err != nil {
		t.Fatal(err)
	}
	e.want(t, "before commit "+a+" "+b, "after commit "+a+" "+b)

	if err := store.Purge(t.Context(), jetstore.StreamRows, "batchbus.rows.q.j", 0); err != nil {
		t.Fatal(err)
	}
	e.want(t, "before purge batchbus.rows.q.j", "after purge batchbus.rows.q.j")

	object, err := f.Store.PutObject(t.Context(), jetstore.StreamRows, "s", strings.NewReader("x"))
	if err == nil {
		err = store.DeleteObject(t.Context(), object.Name)
	}
	if err != nil {
		t.Fatal(err)
	}
	if first, last := e.heard[0], e.heard[len(e.heard)-1]; first != "before delete "+object.Name || last != "after delete "+object.Name {
		t.Errorf("a deleted object is heard of as %v", e.heard)
	}
}

func TestAProbeHearsOfTheAnswersToMessagesOnce(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	for range 2 {
		if _, err := f.Store.Publish(t.Context(), &nats.Msg{Subject: "batchbus.requests.q.j"}); err != nil {
			t.Fatal(err)
		}
	}
	var e effects
	ctx, cancel := context.WithCancel(t.Context())
	handle := func(ctx context.Context, batch []jetstore.Delivery) error {
		for i, d := range batch {
			answer := d.Ack
			if i == 0 {
				answer = func() error { return d.Nak(0) }
			}
			if err := answer(); err != nil {
				t.Error(err)
			}
		}
		cancel()
		return nil // acks what is not answered: there is nothing left
	}
	if err := f.Store.Probed(e.probe).Batches(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest, jetstore.BatchOptions{}, handle); err != nil {
		t.Fatal(err)
	}
	e.want(t, "before nak batchbus.requests.q.j", "after nak batchbus.requests.q.j", "before ack batchbus.requests.q.j", "after ack batchbus.requests.q.j")
}
