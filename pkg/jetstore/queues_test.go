package jetstore_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestAQueueRecordIsChangedByTheRevisionItReplaces(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	none, err := f.Store.Queue(t.Context(), "night")
	if !errors.Is(err, jetstore.ErrNotFound) || none.Revision != 0 {
		t.Fatalf("%+v, %v", none, err)
	}
	put := func(value string, expect uint64) error {
		_, err := f.Store.Commit(t.Context(), jetstore.Change{Subject: jetstore.QueueSubject("night"), Value: []byte(value), Expect: expect})
		return err
	}
	if err := put("one", 0); err != nil {
		t.Fatal(err)
	}
	if err := put("two", 0); !errors.Is(err, jetstore.ErrConflict) {
		t.Errorf("a second first record: %v", err)
	}
	have, err := f.Store.Queue(t.Context(), "night")
	if err != nil || string(have.Value) != "one" || have.Key != "night" || have.At.IsZero() {
		t.Fatalf("%+v, %v", have, err)
	}
	if _, err := f.Store.Commit(t.Context(), jetstore.QueueDeletion("night", have.Revision)); err != nil {
		t.Fatal(err)
	}
	gone, err := f.Store.Queue(t.Context(), "night")
	if !errors.Is(err, jetstore.ErrNotFound) || gone.Revision <= have.Revision {
		t.Errorf("%+v, %v", gone, err)
	}
	if err := put("three", gone.Revision); err != nil {
		t.Error(err)
	}
}

func TestQueueRecordsAreThoseOfTheNatsTool(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	kv, err := f.Store.JetStream().KeyValue(t.Context(), jetstore.BucketQueues)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "gone"} {
		if _, err := kv.Put(t.Context(), key, []byte("of "+key)); err != nil {
			t.Fatal(err)
		}
	}
	if err := kv.Delete(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	list := func(from uint64) (found string, last uint64) {
		for entry, err := range f.Store.QueuesFrom(t.Context(), from) {
			if err != nil {
				t.Fatal(err)
			}
			found, last = found+entry.Key+"="+string(entry.Value)+" ", entry.Revision
		}
		return found, last
	}
	all, last := list(0)
	if rest, _ := list(last); all != "a=of a b=of b " || rest != "b=of b " {
		t.Errorf("%q, from %d: %q", all, last, rest)
	}
	if _, err := f.Store.Commit(t.Context(), jetstore.QueueDeletion("b", last)); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Get(t.Context(), "b"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("a record that was deleted: %v", err)
	}
}
