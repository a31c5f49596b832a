package integration_test

import (
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestTwoReplicasOfEachServiceShareTheWorkAndPayForEachBatchOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{})
	w.replicas = 2
	s := w.start()
	jsonl, ids := grouped(5000, 5)
	s.open("shared", 250)
	s.publish("shared", jsonl)
	done := s.awaitEvent(events.JobDone, "shared")

	s.wantAllOnce("shared", ids)
	wantPaid(t, s.ledger(), 20, len(ids))
	if totals := done.JobState.Totals; totals == nil || totals.Rows != len(ids) || totals.Succeeded != len(ids) {
		t.Errorf("the job says %+v", totals)
	}
	wantStory(t, s.events("shared"), 20)
}

func TestAReplicaThatEndsLeavesItsWorkToTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{RowsPerSecond: 40})
	w.replicas = 2
	s := w.start()
	jsonl, ids := grouped(400, 4)
	s.open("left", 50)
	s.publish("left", jsonl)
	s.awaitEvent(events.BatchIsCreating, "left")
	s.stopOne()
	s.awaitEvent(events.JobDone, "left")
	s.wantAllOnce("left", ids)
	wantPaid(t, s.ledger(), 8, len(ids))
}
