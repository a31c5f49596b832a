package integration_test

import (
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestACancelledJobKeepsWhatRanAndAnswersTheRest(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{RowsPerSecond: 20}).start()
	s.open("cancelled", 100)
	jsonl, ids := grouped(120, 1) // a batch of 100, and 20 rows that are not cut before the seal
	s.send(events.RequestSubject(queue, "cancelled"), jsonl)
	s.awaitEvent(events.BatchProgress, "cancelled")
	s.send(events.RequestSubject(queue, "cancelled"), "", events.HeaderCancel, "true")
	done := s.awaitEvent(events.JobDone, "cancelled")

	results, ledger := s.results("cancelled"), s.ledger()
	counts := outcomes(results)
	if counts[events.Succeeded] == 0 || counts[events.Cancelled] < 20 || counts[events.Succeeded]+counts[events.Cancelled] != len(ids) {
		t.Errorf("outcomes %v", counts)
	}
	if counts[events.Succeeded] != ledger.RowsRun {
		t.Errorf("%d rows ran and %d succeeded: what was paid for is delivered", ledger.RowsRun, counts[events.Succeeded])
	}
	if len(ledger.Creates) != 1 || len(ledger.Cancels) != 1 || len(s.deadLetters("cancelled")) > 0 {
		t.Errorf("%d creates, %d cancels, dead letters %v", len(ledger.Creates), len(ledger.Cancels), codes(s.deadLetters("cancelled")))
	}
	for _, id := range ids[100:] {
		if r := results[id]; r.Outcome != events.Cancelled || r.Batch != "" || r.Error == nil || r.Error.Code != events.CodeCancelled {
			t.Errorf("uncut row %s: %s", id, r.Raw)
		}
	}
	if j := done.JobState; j.Batches != 1 || j.FollowUps != 0 || j.CancelWanted == nil || j.Totals.Cancelled != counts[events.Cancelled] {
		t.Errorf("the job says %+v, totals %+v", j, j.Totals)
	}
}

func TestACancelledJobThatNobodySentCostsNothing(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{}).start()
	jsonl, ids := grouped(30, 3)
	s.send(events.RequestSubject(queue, "early"), strings.TrimSpace(jsonl), events.HeaderCancel, "true")
	s.awaitEvent(events.JobDone, "early")
	wantOutcomes(t, s.results("early"), map[events.Outcome]int{events.Cancelled: len(ids)})
	if ledger := s.ledger(); len(ledger.Creates) != 0 {
		t.Errorf("%d creates", len(ledger.Creates))
	}
}
