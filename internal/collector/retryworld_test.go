package collector_test

import (
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// retries gives the job a retry policy.
func (w *world) retries(attempts int, on ...string) {
	w.t.Helper()
	w.editJob(func(j *events.Job) { j.Policy.Retry = events.Retry{On: on, MaxAttempts: attempts} })
}

func (w *world) merge() *fakeFile { return w.p.merge }

// errorLine is a failed row of the error file with the provider's message, JSON in a string.
func errorLine(wireID, message string) string {
	return `{"id":"r-` + wireID + `","custom_id":` + quote(wireID) + `,"response":null,"error":{"code":null,"message":` + quote(message) + `}}`
}

const (
	busy      = `{"type":"RetriableHttpStatus","details":{"status":503,"body":"busy"}}`
	noCredit  = `{"type":"NonRetriableHttpStatus","details":{"status":402,"body":"{\"error\":{\"message\":\"Account balance too low\",\"type\":\"insufficient_funds\",\"code\":\"insufficient_balance\"}}"}}`
	noAccess  = `{"type":"NonRetriableHttpStatus","details":{"status":403,"body":"Forbidden"}}`
	permanent = `{"type":"NonRetriableHttpStatus","details":{"status":400,"body":"no"}}`
)

// entries reads a batch's manifest.
func (w *world) entries(n string) []manifest.Entry {
	w.t.Helper()
	entries, err := manifest.Load(w.ctx(), w.f.Store, w.batchOf(n).Manifest)
	w.ok(err)
	return entries
}

// attempts are the custom_ids of a batch's manifest with their attempts.
func (w *world) attempts(n string) (all []string) {
	w.t.Helper()
	entries := w.entries(n)
	for row, err := range manifest.Rows(w.ctx(), w.f.Store, queue, job, entries) {
		w.ok(err)
		all = append(all, fmt.Sprintf("%s:%d", row.CustomID, entries[row.Place].Attempt))
	}
	return all
}

// runChild plays the submitter, the provider and the poller for a follow-up: it ends with these lines in its files.
func (w *world) runChild(n, status string, out, errs []string) {
	w.t.Helper()
	b := w.batchOf(n)
	w.p.change(func() {
		w.p.files["out-"+n], w.p.files["err-"+n] = &fakeFile{lines: out}, &fakeFile{lines: errs}
		w.p.batch = doubleword.Batch{ID: "remote-" + n, Status: status, Counts: doubleword.Counts{
			Total: b.Rows, Completed: len(out), Failed: len(errs),
		}}
	})
	b.State, b.Hold, b.ProviderBatchID, b.OutputFileID, b.ErrorFileID = events.BatchFinished, nil, "remote-"+n, "out-"+n, "err-"+n
	b.Status, b.Counts = status, events.Counts(w.p.batch.Counts)
	change := jobs.NewChange(time.Now())
	change.Batch(&b, events.BatchIsFinished)
	w.ok(w.jobs.Commit(w.ctx(), change))
	s := w.service(nil)
	for range 20 {
		wait, err := s.Collect(w.ctx(), queue, job, n)
		w.ok(err)
		if wait == 0 {
			break
		}
		pass(wait)
	}
	w.want("state of "+n, w.batchOf(n).State, events.BatchSettled)
}

// conserved is the closing invariant: each row has one result, and the job's totals are those of the results.
func (w *world) conserved() {
	w.t.Helper()
	results := w.results()
	j := w.job()
	w.want("job", j.State, events.JobCompleted)
	var totals events.Totals
	for _, r := range results {
		totals.CountResult(&r.Result)
	}
	w.want("rows with a result", len(results), len(w.ids))
	answered := *j.Totals
	answered.Billed = 0 // no result says it
	w.want("totals", answered, totals)
}

// stand publishes a success of a row of batch 1.
func (w *world) stand(id string, tokens int64) {
	w.t.Helper()
	result := events.Result{
		CustomID: id, Queue: queue, Job: job, Outcome: events.Succeeded, StatusCode: 200, Response: []byte(`{"first":true}`), Batch: "1",
		Attempt: 1, Usage: &events.Usage{CompletionTokens: tokens, TotalTokens: tokens}, CompletedAt: time.Now(),
	}
	_, err := w.f.Store.PublishOnce(w.ctx(), messages.Result(&result, hashOf("from "+id)))
	w.ok(err)
}
