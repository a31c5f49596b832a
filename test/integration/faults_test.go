package integration_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestABatchWhoseCreateWasNotAnsweredIsFoundAndAdopted(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultCreateReplyLost, Count: 2}}}).start()
	jsonl, ids := grouped(60, 3)
	s.publish("lost", jsonl)
	s.awaitEvent(events.JobDone, "lost")
	s.wantAllOnce("lost", ids)
	ledger := s.ledger()
	wantPaid(t, ledger, 3, len(ids))
	if got := ledger.Calls["POST /v1/batches"]; got != 3 {
		t.Errorf("%d calls to create, want 3: an unanswered one is not repeated", got)
	}
	created := map[string]bool{}
	for _, c := range ledger.Creates {
		created[c.BatchID] = true
	}
	for id, r := range s.results("lost") {
		if !created[r.ProviderBatchID] {
			t.Errorf("row %s names the batch %q, which the ledger does not hold", id, r.ProviderBatchID)
		}
	}
}

func TestAModelThatTheProviderRefusesRejectsItsOwnRowsOnly(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{}).start()
	var lines []string
	for i := range 20 {
		lines = append(lines, chat(fmt.Sprintf("good-%d", i), "m", "x"), chat(fmt.Sprintf("bad-%d", i), "unknown/x", "x"))
	}
	s.publish("model", strings.Join(lines, "\n"))
	s.awaitEvent(events.JobDone, "model")
	results := s.results("model")
	wantOutcomes(t, results, map[events.Outcome]int{events.Succeeded: 20, events.Rejected: 20})
	for id, r := range results {
		refused := strings.HasPrefix(id, "bad-")
		if refused != (r.Outcome == events.Rejected) {
			t.Errorf("%s: %s", id, r.Outcome)
		}
		if refused && (r.Error == nil || r.Error.Code != events.CodeRefusedRow || !strings.Contains(r.Error.Message, "unknown/x")) {
			t.Errorf("%s: error %+v", id, r.Error)
		}
	}
	wantPaid(t, s.ledger(), 1, 20)
}

func TestARowThatTheProviderNamesIsRejectedAndTheOthersAreAnswered(t *testing.T) {
	t.Parallel()
	const text = "Line 7: something that only the provider knows"
	s := newWorld(t, simulator.Config{Faults: []simulator.Fault{{
		Kind: simulator.FaultUploadRefused, Status: http.StatusBadRequest, Text: text,
	}}}).start()
	jsonl, ids := grouped(20, 1)
	s.publish("line", jsonl)
	s.awaitEvent(events.JobDone, "line")
	results := s.results("line")
	wantOutcomes(t, results, map[events.Outcome]int{events.Succeeded: 19, events.Rejected: 1})
	r := results[ids[6]]
	if r.Outcome != events.Rejected || r.Error == nil || r.Error.Code != events.CodeRefusedRow || r.Error.Line != 7 ||
		!strings.Contains(r.Error.Message, "something that only the provider knows") {
		t.Errorf("row 7: %s", r.Raw)
	}
	wantPaid(t, s.ledger(), 1, 19)
}

func TestP47WithoutCreditTheQueueIsHeldInTheOpen(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{Faults: []simulator.Fault{{
		Kind: simulator.FaultCreateRefused, Status: http.StatusPaymentRequired, Count: -1,
	}}}).start()
	jsonl, ids := grouped(10, 1)
	s.publish("poor", jsonl)
	e := s.awaitEvent(events.QueueHeld, events.NoJob)
	if b := e.BudgetState; b == nil || len(b.Holds) != 1 || b.Holds[0].Code != events.HoldCredit || b.Holds[0].Message == "" || b.Holds[0].At.IsZero() {
		t.Errorf("event %+v", e.BudgetState)
	}
	b, err := s.bus.Jobs.Batch(t.Context(), queue, "poor", "1")
	if err != nil || b.State != events.BatchUploaded || b.Why != events.WhyQueueHeld || b.LastError == "" || b.Rows != len(ids) {
		t.Errorf("state %+v, %v", b.Batch, err)
	}
	status, err := s.bus.Client.Job(t.Context(), events.JobRef{Queue: queue, Job: "poor"})
	if err != nil || len(status.QueueHolds) != 1 || status.QueueHolds[0].Code != events.HoldCredit {
		t.Errorf("status %+v, %v", status, err)
	}
	if ledger := s.ledger(); len(ledger.Creates) != 0 || ledger.Calls["POST /v1/batches"] != 1 {
		t.Errorf("%d creates in %d calls", len(ledger.Creates), ledger.Calls["POST /v1/batches"])
	}
	if results := s.results("poor"); len(results) > 0 {
		t.Errorf("%d results of a held batch", len(results))
	}
}

func TestAnswersThatBreakOffAreReadAgain(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{Faults: []simulator.Fault{
		{Kind: simulator.FaultShortBody, Count: 2, Bytes: 3000},
		{Kind: simulator.FaultShortBody, Nth: 3, Count: 2, Bytes: 5000, Clean: true},
	}}).start()
	jsonl, ids := grouped(100, 1)
	s.publish("short", jsonl)
	s.awaitEvent(events.JobDone, "short")
	s.wantAllOnce("short", ids)
	wantPaid(t, s.ledger(), 1, len(ids))
}

func TestARowThatNeitherFileHoldsIsFoundInTheResultsOfTheBatch(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{Faults: []simulator.Fault{
		{Kind: simulator.FaultMissingRow, CustomIDs: []string{"row-00003"}},
	}}).start()
	jsonl, ids := grouped(10, 1)
	s.publish("missing", jsonl)
	s.awaitEvent(events.JobDone, "missing")
	s.wantAllOnce("missing", ids)
	wantPaid(t, s.ledger(), 1, len(ids))
}

// A row that is nowhere to be found has never had an answer: by default it is sent once more, alone. When that try ends so too, it fails by name.
func TestARowThatIsNowhereToBeFoundIsSentOnceMoreAndThenFailsByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		batches int // in which the row is lost
		want    map[events.Outcome]int
	}{
		"lost once":  {1, map[events.Outcome]int{events.Succeeded: 10}},
		"lost twice": {2, map[events.Outcome]int{events.Succeeded: 9, events.Failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorld(t, simulator.Config{Faults: []simulator.Fault{
				{Kind: simulator.FaultMissingRow, CustomIDs: []string{"row-00003"}, Count: c.batches},
				{Kind: simulator.FaultStatus, Route: "GET /v1/batches/{id}/results", Status: http.StatusNotFound, Count: -1},
			}}).start()
			jsonl, ids := grouped(10, 1)
			s.publish("nowhere", jsonl)
			s.awaitEvent(events.JobDone, "nowhere")
			results := s.results("nowhere")
			wantOutcomes(t, results, c.want)
			r := results["row-00003"]
			if failed := r.Error != nil && r.Error.Code == events.CodeMissingResult; r.Attempt != 2 || failed != (c.batches == 2) {
				t.Errorf("%s", r.Raw)
			}
			wantPaid(t, s.ledger(), 2, len(ids)+1)
		})
	}
}
