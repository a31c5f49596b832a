package integration_test

import (
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
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

// TestAQueuesSettingsReachTheProviderAndOtherModelsDoNot: what a policy sets is spliced into bodies whose other bytes stay, and a row of a model
// that it does not allow is answered before money is spent. The policy changes while the services run.
func TestAQueuesSettingsReachTheProviderAndOtherModelsDoNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{})
	w.replicas = 2
	s := w.start()
	row := func(id, body string) string {
		return `{"custom_id":"` + id + `","method":"POST","url":"/v1/chat/completions","body":` + body + "}\n"
	}
	jsonl := row("odd", `{ "temperature":1.0 ,"model":"m", "x":[1E5 ]}`) + row("bare", `{"model":"m"}`) + row("other", `{"model":"n"}`)
	s.putQueue(queue, `{"models":["m"],"set":["body.temperature=0","body.metadata.team=a b"]}`)
	s.publish("set", jsonl)
	s.awaitEvent(events.JobDone, "set")
	sent := w.provider.sent()
	sameBytes(t, "odd", sent["odd"], `{"metadata":{"team":"a b"}, "temperature":0 ,"model":"m", "x":[1E5 ]}`)
	sameBytes(t, "bare", sent["bare"], `{"metadata":{"team":"a b"},"temperature":0,"model":"m"}`)
	results := s.results("set")
	if r := results["other"]; r.Outcome != events.Rejected || r.Error.Code != rows.CodeModelNotAllowed || sent["other"] != "" {
		t.Errorf("%+v, sent %q", r, sent["other"])
	}
	s.putQueue(queue, `{}`)
	s.publish("plain", row("bare2", `{"model":"n"}`))
	s.awaitEvent(events.JobDone, "plain")
	sameBytes(t, "under the policy as it is now", w.provider.sent()["bare2"], `{"model":"n"}`)
	j, err := s.bus.Client.Job(t.Context(), events.JobRef{Queue: queue, Job: "set"})
	if err != nil || len(j.Policy.Set) != 2 || len(j.Policy.Models) != 1 {
		t.Errorf("the job's own policy: %+v, %v", j.Policy, err)
	}
}
