package integration_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// cancelled cancels a job by the control API, as often as it is told to.
func (s *stack) cancelled(job string, times int) (last events.JobStatus) {
	s.t.Helper()
	for range times {
		var err error
		if last, err = s.bus.Client.CancelJob(s.t.Context(), events.JobRef{Queue: queue, Job: job}); err != nil {
			s.t.Fatal(err)
		}
	}
	return last
}

// P21, P32, D-fact of section 5.2: a batch that is cancelled before it has rows says "cancelling" for ever; it ends all the same, once.
func TestP21P32ABatchThatStaysCancellingForEverEndsWithAllItsRowsCancelled(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]simulator.FaultKind{
		"cancelled before it had rows": simulator.FaultFrozenValidating, "and never said to be cancelled": simulator.FaultFrozenCancelling,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newWorld(t, simulator.Config{Latency: time.Hour, Faults: []simulator.Fault{{Kind: kind}}}).start()
			jsonl, ids := grouped(20, 1)
			s.publish("stuck", jsonl)
			s.awaitEvent(events.BatchIsSubmitted, "stuck")
			s.cancelled("stuck", 3)
			done := s.awaitEvent(events.JobDone, "stuck")
			wantOutcomes(t, s.results("stuck"), map[events.Outcome]int{events.Cancelled: len(ids)})
			if ledger := s.ledger(); len(ledger.Creates) != 1 || len(ledger.Cancels) != 1 || ledger.RowsRun != 0 {
				t.Errorf("%d creates, %d cancels, %d rows run", len(ledger.Creates), len(ledger.Cancels), ledger.RowsRun)
			}
			if j := done.JobState; j.Totals == nil || j.Totals.Cancelled != len(ids) {
				t.Errorf("the job says %+v", j)
			}
		})
	}
}

// P29, D14: rows that were in flight finish after the cancel, are paid, and are delivered as late; the rest ends cancelled.
func TestP29D14RowsThatFinishAfterACancelAreDeliveredAndFlagged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{Latency: time.Hour, Faults: []simulator.Fault{
		{Kind: simulator.FaultLateAfterCancel, Rows: 4, Delay: 1500 * time.Millisecond},
	}})
	w.options.Settings.CancelGrace = 3 * time.Second
	s := w.start()
	jsonl, ids := grouped(12, 1)
	s.publish("late", jsonl)
	s.awaitEvent(events.BatchProgress, "late") // its rows are there
	s.cancelled("late", 1)
	s.awaitEvent(events.JobDone, "late")
	results := s.results("late")
	wantOutcomes(t, results, map[events.Outcome]int{events.Succeeded: 4, events.Cancelled: len(ids) - 4})
	for id, r := range results {
		if r.Late != (r.Outcome == events.Succeeded) {
			t.Errorf("row %s: %s", id, r.Raw)
		}
	}
	if ledger := s.ledger(); len(ledger.Creates) != 1 || len(ledger.Cancels) != 1 || ledger.RowsRun != 4 {
		t.Errorf("%d creates, %d cancels, %d rows run", len(ledger.Creates), len(ledger.Cancels), ledger.RowsRun)
	}
}

// P75: batches never mix models, and an unknown model costs its own rows alone.
func TestP75D19ThreeModelsAreThreeBatchesAndAnUnknownOneIsRejected(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{Models: []string{"model-0", "model-1", "model-2"}}).start()
	jsonl, _ := grouped(12, 4) // model-3 is unknown
	s.publish("mixed", jsonl)
	done := s.awaitEvent(events.JobDone, "mixed")
	results := s.results("mixed")
	wantOutcomes(t, results, map[events.Outcome]int{events.Succeeded: 9, events.Rejected: 3})
	if r := results["row-00003"]; r.Error == nil || r.Error.Code != events.CodeRefusedRow || r.Error.Message == "" || r.Attempt > 1 {
		t.Errorf("the row of the unknown model: %s", r.Raw)
	}
	wantPaid(t, s.ledger(), 3, 9)
	if done.JobState.Batches != 4 {
		t.Errorf("%d batches", done.JobState.Batches)
	}
	if status := s.cancelled("mixed", 2); status.State != events.JobCompleted || status.CancelWantedAt != nil {
		t.Errorf("a cancel of a completed job changes it: %+v", status)
	}
	if ledger := s.ledger(); len(ledger.Cancels) != 0 {
		t.Errorf("a finished batch is cancelled: %+v", ledger.Cancels)
	}
}
