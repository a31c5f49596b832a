package integration_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// TestAPausedQueueTakesRowsAndSendsNothing: what ran before the pause is collected, other queues go on, a replica that starts meanwhile obeys, and
// the resume is all that its batches wait for.
func TestAPausedQueueTakesRowsAndSendsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{})
	w.replicas = 2
	s := w.start()
	jsonl, ids := grouped(20, 2)
	s.publishTo("night", "before", jsonl)
	s.await(jetstore.StreamEvents, events.EventSubject(events.BatchIsSubmitted, "night", "before", ">"), 2)
	if _, err := s.bus.Client.PauseQueue(t.Context(), events.PauseQueue{Queue: "night", Message: "by the test"}); err != nil {
		t.Fatal(err)
	}
	s.publishTo("night", "paused", jsonl)
	s.publish("others", jsonl)
	s.awaitOf(events.JobFullyPlanned, "night", "paused")
	s.awaitEvent(events.JobDone, "others")
	s.awaitWhy("night", "paused")
	s.await(jetstore.StreamEvents, events.EventSubject(events.QueueHeld, "night", events.NoJob, ">"), 1)
	for b, err := range s.bus.Client.Batches(t.Context(), events.ListBatches{Queue: "night", Job: "paused", Held: true}) {
		if err != nil || b.State != events.BatchPlanned || b.FileID != "" || b.Why != events.WhyQueueHeld {
			t.Errorf("batch %+v, %v", b, err)
		}
	}
	if j, err := s.bus.Client.Job(t.Context(), events.JobRef{Queue: "night", Job: "paused"}); err != nil || len(j.QueueHolds) != 1 || len(j.Batches) != 2 {
		t.Errorf("the job does not say that it waits: %+v, %v", j, err)
	}
	s.awaitOf(events.JobDone, "night", "before")
	began := time.Now()
	if _, err := s.bus.Client.ResumeQueue(t.Context(), "night"); err != nil {
		t.Fatal(err)
	}
	s.awaitOf(events.JobDone, "night", "paused")
	t.Logf("completed %s after the resume", time.Since(began).Round(time.Millisecond))
	if n := s.succeeded("night", "paused"); n != len(ids) {
		t.Errorf("%d rows succeeded, want %d", n, len(ids))
	}
	wantPaid(t, s.ledger(), 6, 3*len(ids))
}
