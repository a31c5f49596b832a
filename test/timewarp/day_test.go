package timewarp_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const listCall = "GET /v1/batches"

// lists is how often the provider was asked for its batches while d passes.
func (w *world) lists(d time.Duration) int {
	before := w.sim.Ledger().Calls[listCall]
	pass(d)
	return w.sim.Ledger().Calls[listCall] - before
}

// The poller asks every half minute at first and less often as the batch ages, down to once in ten minutes: that is what it must look
// like from the provider's side.
func TestALongBatchIsAskedForOftenWhenYoungAndSeldomWhenOld(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Config{Latency: 6 * time.Hour}, 1, func(w *world) {
		w.publish("long", "row", 10, events.HeaderSeal, "true")
		pass(time.Minute)
		if young := w.lists(9 * time.Minute); young < 14 || young > 19 {
			w.t.Errorf("%d lists in nine minutes of a young batch, want one in about half a minute", young)
		}
		pass(3*time.Hour + 20*time.Minute) // a twentieth of its age is ten minutes by then
		if old := w.lists(2 * time.Hour); old < 11 || old > 15 {
			w.t.Errorf("%d lists in two hours of an old batch, want one in about ten minutes", old)
		}
		if got := len(w.told(events.BatchProgress, "long")); got > 2 {
			w.t.Errorf("%d progress events of a batch that made none", got)
		}
		if w.results("long") != 0 || w.job("long").State != events.JobPlanned {
			w.t.Fatal("the batch is over too early")
		}
		pass(50 * time.Minute) // to the batch's six hours, and two of the longest intervals more
		if j := w.job("long"); j.State != events.JobCompleted || w.results("long") != 10 {
			w.t.Errorf("the job is %s with %d results", j.State, w.results("long"))
		}
		if idle := w.lists(2 * time.Hour); idle > 2 || len(w.sim.Ledger().Creates) != 1 {
			w.t.Errorf("%d lists in two hours while there is no batch, %d creates in all", idle, len(w.sim.Ledger().Creates))
		}
	})
}

func TestABatchPastItsWindowIsToldOverdueOnceByTwoReplicasAndStillAnswered(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Config{Latency: 3 * time.Hour}, 2, func(w *world) {
		w.publish("late", "row", 10, events.HeaderSeal, "true", events.HeaderWindow, "1h")
		pass(59 * time.Minute)
		if told := w.told(events.BatchOverdue, "late"); len(told) != 0 {
			w.t.Fatalf("overdue within its window: %+v", told)
		}
		pass(90 * time.Minute)
		if got := len(w.told(events.BatchOverdue, "late")); got != 1 {
			w.t.Fatalf("%d overdue events half an hour and an hour after the window, want one", got)
		}
		b, err := w.jobs.Batch(w.t.Context(), queue, "late", "1")
		if err != nil || !b.Overdue || b.Why == "" || b.NextPollAt == nil {
			w.t.Errorf("the batch does not say that it waits: %+v, %v", b.Batch, err)
		}
		pass(time.Hour)
		if j := w.job("late"); j.State != events.JobCompleted || w.results("late") != 10 {
			w.t.Errorf("the job is %s with %d results", j.State, w.results("late"))
		}
		if got := len(w.told(events.BatchOverdue, "late")); got != 1 || len(w.sim.Ledger().Creates) != 1 {
			w.t.Errorf("%d overdue events and %d creates in the end", got, len(w.sim.Ledger().Creates))
		}
	})
}

func TestRowsArePurgedWhenTheirKeepTimeIsOverAndResultsStay(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Config{}, 2, func(w *world) {
		policy := events.DefaultPolicy()
		policy.KeepRowsSeconds = int((2 * time.Hour).Seconds())
		if _, err := w.jobs.Open(w.t.Context(), queue, "kept", jobs.Options{Policy: policy}); err != nil {
			w.t.Fatal(err)
		}
		w.publish("kept", "row", 10, events.HeaderSeal, "true")
		pass(30 * time.Minute)
		rows := events.RowsSubject(queue, "kept")
		if j := w.job("kept"); j.State != events.JobCompleted || w.results("kept") != 10 {
			w.t.Fatalf("the job is %s with %d results", j.State, w.results("kept"))
		}
		pass(89 * time.Minute)
		if w.count(jetstore.StreamRows, rows) != 1 {
			w.t.Error("rows are gone before their time is over")
		}
		pass(30 * time.Minute)
		if w.count(jetstore.StreamRows, rows) != 0 || w.results("kept") != 10 {
			w.t.Errorf("after their time rows stand: %d; results: %d of 10", w.count(jetstore.StreamRows, rows), w.results("kept"))
		}
	})
}
