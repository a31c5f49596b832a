package integration_test

import (
	"slices"
	"strings"
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

// TestEachFieldOfAPolicyIsObeyedByTheNextJobWithoutARestart puts one policy after another while the services run, and opens a job under each.
func TestEachFieldOfAPolicyIsObeyedByTheNextJobWithoutARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{})
	w.replicas = 2
	s := w.start()
	jsonl, _ := grouped(6, 1)
	for name, c := range map[string]struct {
		policy  string
		headers []string
		want    func(p *events.Policy) bool
		rows    []int // of each batch
		letters int
		check   func(j *events.JobStatus) bool
	}{
		"batches": {`{"max_rows_per_batch":4}`, nil, func(p *events.Policy) bool { return p.MaxRowsPerBatch == 4 }, []int{4, 2}, 0, nil},
		"bytes":   {`{"max_bytes_per_batch":400,"max_row_bytes":400}`, nil, func(p *events.Policy) bool { return p.MaxBytesPerBatch == 400 }, []int{2, 2, 2}, 0, nil},
		"full":    {`{"max_rows_per_job":5}`, nil, func(p *events.Policy) bool { return p.MaxRowsPerJob == 5 }, []int{5}, 1, nil},
		"long":    {`{"max_row_bytes":100}`, nil, func(p *events.Policy) bool { return p.MaxRowBytes == 100 }, nil, 0, func(j *events.JobStatus) bool { return j.Totals.Rejected == 6 }},
		"window":  {`{}`, []string{events.HeaderWindow, "1h"}, func(p *events.Policy) bool { return p.Window == "24h" }, []int{6}, 0, func(j *events.JobStatus) bool { return j.Batches[0].Window == "1h" }},
		"nowindow": {
			`{"windows":["24h"]}`,
			[]string{events.HeaderWindow, "1h"},
			func(p *events.Policy) bool { return len(p.Windows) == 1 }, nil, 0,
			func(j *events.JobStatus) bool { return j.Totals.Rejected == 6 },
		},
		"urls":  {`{"urls":["/v1/embeddings"]}`, nil, func(p *events.Policy) bool { return len(p.URLs) == 1 }, nil, 0, func(j *events.JobStatus) bool { return j.Totals.Rejected == 6 }},
		"model": {`{"model":"model-of-all"}`, nil, func(p *events.Policy) bool { return p.Model == "model-of-all" }, []int{6}, 0, func(j *events.JobStatus) bool { return j.Batches[0].Model == "model-of-all" }},
		"keep": {`{"keep_rows_seconds":1,"cancel_grace_seconds":7,"priority":3}`, nil, func(p *events.Policy) bool {
			return p.KeepRowsSeconds == 1 && p.CancelGraceSeconds == 7 && p.Priority == 3
		}, []int{6}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.putQueue(name, c.policy)
			for i, line := range strings.SplitAfter(strings.TrimSpace(jsonl), "\n") {
				headers := c.headers
				if i == 5 {
					headers = append([]string{events.HeaderSeal, "true"}, headers...)
				}
				s.send(events.RequestSubject(name, "job"), line, headers...)
			}
			s.awaitOf(events.JobDone, name, "job")
			j, err := s.bus.Client.Job(t.Context(), events.JobRef{Queue: name, Job: "job"})
			if err != nil || !c.want(&j.Policy) {
				t.Fatalf("the job records %+v, %v", j.Policy, err)
			}
			var rows []int
			for _, b := range j.Batches {
				rows = append(rows, b.Rows)
			}
			if !slices.Equal(rows, c.rows) || c.check != nil && !c.check(&j) {
				t.Errorf("batches of %v rows, %+v", rows, j.Totals)
			}
			letters := 0
			for range s.bus.Client.DeadLetters(t.Context(), name, "job", 0) {
				letters++
			}
			if letters != c.letters {
				t.Errorf("%d dead letters", letters)
			}
		})
	}
}
