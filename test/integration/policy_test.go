package integration_test

import (
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// TestRowsOfAQueueWhoseRecordIsNoPolicyWaitUntilItIsPutRight: nobody opens the job, so ingest has to, and it is told no policy.
func TestRowsOfAQueueWhoseRecordIsNoPolicyWaitUntilItIsPutRight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{})
	w.replicas = 2
	s := w.start()
	kv, err := s.js.KeyValue(t.Context(), jetstore.BucketQueues)
	if err == nil {
		_, err = kv.Put(t.Context(), "tenant", []byte(`{"window":"7h"}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	jsonl, ids := grouped(3, 1)
	s.publishTo("tenant", "waits", jsonl)
	s.publish("others", jsonl)
	s.awaitEvent(events.JobDone, "others")
	for j, err := range s.bus.Jobs.Jobs(t.Context()) {
		if err != nil || j.Queue == "tenant" {
			t.Errorf("job %s was opened under no policy, %v", j.Name(), err)
		}
	}
	s.putQueue("tenant", `{"window":"1h","model":"model-of-the-tenant","max_rows_per_batch":2}`)
	s.awaitOf(events.JobDone, "tenant", "waits")
	j, err := s.bus.Client.Job(t.Context(), events.JobRef{Queue: "tenant", Job: "waits"})
	if err != nil || j.Policy.Window != "1h" || len(j.Batches) != 2 || s.succeeded("tenant", "waits") != len(ids) {
		t.Errorf("%+v, %v", j, err)
	}
	for _, b := range j.Batches {
		if b.Window != "1h" || b.Model != "model-of-the-tenant" || b.Rows > 2 {
			t.Errorf("batch %+v", b)
		}
	}
}
