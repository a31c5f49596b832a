package jetstore_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestEntries(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	for i := range 2500 { // more than one page of 1024 subjects, which is what a multi-last request would give
		m := &nats.Msg{Subject: jetstore.KeySubject(fmt.Sprintf("job.q.j%d", i)), Data: []byte("old")}
		if _, err := f.Store.JetStream().PublishMsgAsync(m); err != nil {
			t.Fatal(err)
		}
	}
	<-f.Store.JetStream().PublishAsyncComplete()
	have, err := f.Store.Get(t.Context(), "job.q.j7")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Store.Commit(t.Context(), change("job.q.j7", "new", have.Revision), change("batch.q.j7.1", "x", 0)); err != nil {
		t.Fatal(err)
	}
	kv, err := f.Store.JetStream().KeyValue(t.Context(), jetstore.BucketJobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Delete(t.Context(), "job.q.j8"); err != nil {
		t.Fatal(err)
	}

	var keys []string
	for entry, err := range f.Store.Entries(t.Context(), "job.") {
		if err != nil {
			t.Fatal(err)
		}
		if entry.Key == "job.q.j7" && string(entry.Value) != "new" {
			t.Errorf("job.q.j7 is %q", entry.Value)
		}
		keys = append(keys, entry.Key)
	}
	if len(keys) != 2499 || slices.Contains(keys, "job.q.j8") || slices.Contains(keys, "batch.q.j7.1") {
		t.Errorf("got %d keys", len(keys))
	}
	for _, err := range f.Store.Entries(t.Context(), "nothing.") {
		t.Errorf("an empty prefix yields something: %v", err)
	}
}

func TestBusID(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	ids := make(chan string)
	for range 8 {
		go func() {
			id, err := f.Store.BusID(t.Context())
			if err != nil {
				t.Error(err)
			}
			ids <- id
		}()
	}
	first := <-ids
	for range 7 {
		if id := <-ids; id != first || len(id) != 26 {
			t.Errorf("two bus ids, %q and %q", id, first)
		}
	}
}
