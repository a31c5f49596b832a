package integration_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// bodyOfRetry is a body that decoding and encoding would change.
const bodyOfRetry = `{ "model":"m",  "temperature" : 1e0, "messages":[{"role":"user","content":"caf\u00e9 <&>"}] }`

func retriable(id string) string {
	return `{"custom_id":` + strconv.Quote(id) + `,"method":"POST","url":"/v1/chat/completions","body":` + bodyOfRetry + `}`
}

func (s *stack) retry(q events.RetryJob) events.Retried {
	s.t.Helper()
	answer, err := s.bus.Client.RetryJob(s.t.Context(), q)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

func (s *stack) wantRefused(q events.RetryJob, code string, parts ...string) {
	s.t.Helper()
	_, err := s.bus.Client.RetryJob(s.t.Context(), q)
	refused, ok := errors.AsType[*events.APIError](err)
	if !ok || refused.Code != code {
		s.t.Errorf("%+v: %v, want %s", q, err, code)
		return
	}
	for _, part := range parts {
		if !strings.Contains(refused.Message, part) {
			s.t.Errorf("%s does not say %q", refused.Message, part)
		}
	}
}

// TestFailedRowsAreRetriedByHandInAJobThatNamesTheirs: two rows fail for a passing reason, one of them of a window of its own, and one for good.
func TestFailedRowsAreRetriedByHandInAJobThatNamesTheirs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{Faults: []simulator.Fault{
		{Kind: simulator.FaultNestedError, Count: 2, Status: 503, Text: "overloaded", CustomIDs: []string{"row 1 <x>", "row-2"}},
		{Kind: simulator.FaultNestedError, Count: 2, Status: 400, Text: "bad row", CustomIDs: []string{"row-3"}},
	}})
	s := w.start()
	subject := events.RequestSubject(queue, "nightly")
	s.send(subject, retriable("row 1 <x>")+"\n"+retriable("row-3")+"\n"+retriable("row-4"))
	s.send(subject, retriable("row-2"), events.HeaderWindow, "1h")
	old := events.JobRef{Job: "nightly"}
	s.awaitEvent(events.JobOpened, "nightly")
	s.wantRefused(events.RetryJob{JobRef: old}, events.APINotSettled)
	s.seal("nightly")
	s.awaitEvent(events.JobDone, "nightly")
	before := s.results("nightly")
	wantOutcomes(t, before, map[events.Outcome]int{events.Failed: 3, events.Succeeded: 1})

	first := s.retry(events.RetryJob{JobRef: old})
	if first.Job != "nightly-retry1" || first.Rows != 2 || first.Retries != (events.JobRef{Queue: queue, Job: "nightly"}) {
		t.Errorf("%+v", first)
	}
	s.awaitEvent(events.JobDone, "nightly-retry1")
	s.wantAllOnce("nightly-retry1", []string{"row 1 <x>", "row-2"})
	creates := len(s.ledger().Creates)
	if again := s.retry(events.RetryJob{JobRef: old}); again != first {
		t.Errorf("the same again: %+v, was %+v", again, first)
	}
	j, err := s.bus.Client.Job(t.Context(), events.JobRef{Job: "nightly-retry1"})
	if err != nil || j.Retries == nil || j.Retries.Job != "nightly" || len(j.Batches) != 2 {
		t.Errorf("%+v, %v", j, err)
	}
	windows := map[string]int{}
	for _, b := range j.Batches {
		windows[b.Window] += b.Rows
	}
	if windows["1h"] != 1 || windows["24h"] != 1 {
		t.Errorf("rows by window: %v", windows)
	}

	code := before["row-3"].Error.Code
	second := s.retry(events.RetryJob{JobRef: old, Only: []string{code}, Policy: json.RawMessage(`{"window":"1h"}`)})
	if second.Job != "nightly-retry2" || second.Rows != 1 {
		t.Errorf("by code %s: %+v", code, second)
	}
	s.awaitEvent(events.JobDone, "nightly-retry2")
	s.wantAllOnce("nightly-retry2", []string{"row-3"})
	s.wantRefused(events.RetryJob{JobRef: old, All: true}, events.APINoSuchRows, "all 3 rows", "nightly-retry1", "nightly-retry2")
	s.wantRefused(events.RetryJob{JobRef: old, Only: []string{"no_such_code"}}, events.APINoSuchRows, `has a code of ["no_such_code"]`)
	s.wantRefused(events.RetryJob{JobRef: old, To: "nightly-retry2"}, events.APIJobConflict)
	s.wantRefused(events.RetryJob{JobRef: events.JobRef{Job: "nightly-retry1"}}, events.APINoSuchRows)
	if got := len(s.ledger().Creates); got != creates+1 {
		t.Errorf("%d batches were made, want %d", got, creates+1)
	}
	if after := s.results("nightly"); len(after) != 4 || outcomes(after)[events.Failed] != 3 {
		t.Errorf("the first job's results have changed: %v", outcomes(after))
	}
	w.provider.mu.Lock()
	defer w.provider.mu.Unlock()
	for id, body := range w.provider.tap {
		if string(body) != bodyOfRetry {
			t.Errorf("row %s was sent as %s", id, body)
		}
	}
}

func TestRowsThatWerePurgedAreNotRetriedAndTheAnswerSaysSinceWhen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{Faults: []simulator.Fault{
		{Kind: simulator.FaultNestedError, Count: -1, Status: 503, Text: "overloaded"},
	}})
	w.options.Settings.KeepInterval = 50 * time.Millisecond
	s := w.start()
	for _, job := range []string{"purged", "kept"} {
		seconds := map[string]string{"purged": `{"keep_rows_seconds":1}`, "kept": `{}`}[job]
		q := events.OpenJob{JobRef: events.JobRef{Job: job}, Policy: json.RawMessage(seconds)}
		if _, err := s.bus.Client.OpenJob(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		s.publish(job, retriable("a")+"\n"+retriable("b")+"\n")
		s.awaitEvent(events.JobDone, job)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		if _, err := s.store.Last(t.Context(), jetstore.StreamRows, events.RowsSubject(queue, "purged")); errors.Is(err, jetstore.ErrNotFound) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the rows are not purged")
		}
	}
	j, err := s.bus.Client.Job(t.Context(), events.JobRef{Job: "purged"})
	if err != nil {
		t.Fatal(err)
	}
	s.wantRefused(events.RetryJob{JobRef: events.JobRef{Job: "purged"}}, events.APIRowsPurged,
		"1s after the job's end", j.SinceAt.Add(time.Second).UTC().Format(time.RFC3339))
	if _, err := s.bus.Client.Job(t.Context(), events.JobRef{Job: "purged-retry1"}); err == nil {
		t.Error("a job was opened for rows that are gone")
	}
	if _, err := s.bus.Client.ForgetJob(t.Context(), events.JobRef{Job: "kept"}); err != nil {
		t.Fatal(err)
	}
	s.wantRefused(events.RetryJob{JobRef: events.JobRef{Job: "kept"}}, events.APIRowsPurged, "forgotten at")
}
