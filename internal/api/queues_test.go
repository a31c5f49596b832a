package api_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func (r *rig) putQueue(name, policy string) events.QueueStatus {
	r.t.Helper()
	q, err := r.client.PutQueue(r.t.Context(), events.PutQueue{Queue: name, Policy: json.RawMessage(policy)})
	if err != nil {
		r.t.Fatal(err)
	}
	return q
}

func TestAChangedPolicyHoldsForTheNextJobAndForNoneThatIsOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	open := func(job string) events.JobStatus {
		t.Helper()
		j, err := r.client.OpenJob(t.Context(), events.OpenJob{JobRef: events.JobRef{Queue: "night", Job: job}})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	open("before")
	put := r.putQueue("night", `{"window":"1h","retry":{"max_attempts":4}}`)
	if string(put.Record) != `{"retry":{"max_attempts":4},"window":"1h"}` || put.Policy.Window != "1h" || put.ChangedAt == nil {
		t.Errorf("put %+v", put)
	}
	for range 8 { // any replica knows it at once
		if got, err := r.client.Queue(t.Context(), "night"); err != nil || !reflect.DeepEqual(got, put) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if j := open("after"); j.Policy.Window != "1h" || j.Policy.Retry.MaxAttempts != 4 {
		t.Errorf("after: %+v", j.Policy)
	}
	if j := open("before"); !reflect.DeepEqual(j.Policy, events.DefaultPolicy()) {
		t.Errorf("before: %+v", j.Policy)
	}
	if gone := r.putQueue("night", `{}`); gone.Record != nil || !reflect.DeepEqual(open("last").Policy, events.DefaultPolicy()) {
		t.Errorf("removed: %+v", gone)
	}
}

func TestAJobsOptionsAreInItsPolicyBeforeItsQueues(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.putQueue("night", `{"window":"1h","default_model":"of-queue","key":"night"}`)
	ref := events.JobRef{Queue: "night", Job: "nightly"}
	q := events.OpenJob{JobRef: ref, DefaultModel: "of-job", Policy: json.RawMessage(`{"retry":{"on":["failed"]},"opaque_ids":true,"cancel_grace_seconds":60}`)}
	want := events.DefaultPolicy()
	want.Window, want.DefaultModel, want.Key, want.OpaqueIDs, want.CancelGraceSeconds = "1h", "of-job", "night", true, 60
	want.Retry.On = []string{"failed"}
	for range 2 {
		if j, err := r.client.OpenJob(t.Context(), q); err != nil || !reflect.DeepEqual(j.Policy, want) {
			t.Errorf("%+v, %v", j.Policy, err)
		}
	}
	same := events.OpenJob{JobRef: ref, Policy: json.RawMessage(`{"retry":{"max_attempts":2},"window":"1h"}`)}
	if _, err := r.client.OpenJob(t.Context(), same); err != nil {
		t.Errorf("the options that it has: %v", err)
	}
	for _, other := range []string{`{"retry":{"max_attempts":3}}`, `{"window":"24h"}`, `{"retry":{"on":[]}}`} {
		_, err := r.client.OpenJob(t.Context(), events.OpenJob{JobRef: ref, Policy: json.RawMessage(other)})
		wantCode(t, other, err, events.APIConflict)
	}
}

func TestAFaultyPolicyIsRefusedWithAllItsFaults(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	for subject, requests := range map[string][]string{
		"batchbus.api.queues.put": {
			`{"queue":"night","policy":{"windw":"1h"}}`, `{"queue":"night","policy":{"window":"7h"}}`, `{"queue":"night","policy":"{}"}`, `{"queue":"night"}`,
			`{"queue":"night","policy":null}`, `{"queue":"a.b","policy":{}}`, `{"queue":"night","policy":{"key":"a b","retry":{"max_attempts":11}}}`,
			`{"queue":"night","policy":{"linger_seconds":0}}`,
		},
		"batchbus.api.queues.get":  {`{"queue":"a.b"}`, `{"name":"x"}`},
		"batchbus.api.queues.list": {`{"limit":-1}`, `{"queue":"x"}`},
		"batchbus.api.jobs.open": {
			`{"job":"a","policy":{"windw":"1h"}}`, `{"job":"a","policy":{"retry":{"on":["sometimes"]}}}`, `{"job":"a","policy":{"linger_seconds":5}}`,
			`{"job":"a","policy":{"windows":["1h"]}}`,
		},
	} {
		for _, request := range requests {
			answer := r.ask(subject, request)
			if answer.Header.Get("Nats-Service-Error-Code") != "bad_request" || answer.Header.Get("Nats-Service-Error") == "" {
				t.Errorf("%s %s: %v %s", subject, request, answer.Header, answer.Data)
			}
		}
	}
	_, err := r.client.PutQueue(t.Context(), events.PutQueue{Queue: "night", Policy: json.RawMessage(`{"key":"a b","max_rows_per_job":-1}`)})
	if err == nil || !strings.Contains(err.Error(), "key: ") || !strings.Contains(err.Error(), "max_rows_per_job: ") {
		t.Errorf("two faults: %v", err)
	}
	if q, err := r.client.Queue(t.Context(), "night"); err != nil || q.Record != nil || q.Revision != 0 {
		t.Errorf("stored: %+v, %v", q, err)
	}
}

func TestARecordThatChangedMeanwhileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	first := r.putQueue("night", `{"window":"1h"}`)
	_, err := r.client.PutQueue(t.Context(), events.PutQueue{Queue: "night", Policy: json.RawMessage(`{"key":"b"}`), Revision: new(first.Revision - 1)})
	wantCode(t, "an older revision", err, events.APIQueueChanged)
	if _, err := r.client.PutQueue(t.Context(), events.PutQueue{Queue: "night", Policy: json.RawMessage(`{"key":"b"}`), Revision: &first.Revision}); err != nil {
		t.Error(err)
	}
}

func TestAJobOfAQueueWithABadRecordIsNotOpened(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	kv, err := r.Store.JetStream().KeyValue(t.Context(), jetstore.BucketQueues)
	if err == nil {
		_, err = kv.Put(t.Context(), "night", []byte(`{"window":"7h"}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	open := events.OpenJob{JobRef: events.JobRef{Queue: "night", Job: "nightly"}}
	_, err = r.client.OpenJob(t.Context(), open)
	wantCode(t, "a bad record", err, events.APIBadPolicy)
	q, err := r.client.Queue(t.Context(), "night")
	if err != nil || !strings.Contains(q.Fault, "window") || string(q.Record) != `{"window":"7h"}` {
		t.Errorf("%+v, %v", q, err)
	}
	r.putQueue("night", `{"window":"1h"}`)
	if j, err := r.client.OpenJob(t.Context(), open); err != nil || j.Policy.Window != "1h" {
		t.Errorf("put right: %+v, %v", j.Policy, err)
	}
}

func TestAListOfQueuesIsRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	want := map[string]bool{}
	for i := range 25 {
		name := fmt.Sprintf("queue-%02d", i)
		r.putQueue(name, `{"default_model":"`+strings.Repeat("m", 200)+`"}`)
		want[name] = true
	}
	got := map[string]bool{}
	for q, err := range r.client.Queues(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got[q.Queue] = true
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	var page events.QueueList
	if err := json.Unmarshal(r.ask("batchbus.api.queues.list", `{"limit":3}`).Data, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Queues) != 3 || page.Next == 0 || page.Queues[2].Queue != "queue-02" {
		t.Errorf("%d queues, next %d", len(page.Queues), page.Next)
	}
	if err := json.Unmarshal(r.ask("batchbus.api.queues.list", fmt.Sprintf(`{"limit":3,"after":%d}`, page.Next)).Data, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Queues) != 3 || page.Queues[0].Queue != "queue-03" {
		t.Errorf("the next page: %+v", page)
	}
}
