package timewarp_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// A bubble begins at the start of the year 2000, and with it the first window.
func TestRowsWithoutAJobAreAnsweredByTheirMinutesJobs(t *testing.T) {
	t.Parallel()
	inWorld(t, simulator.Config{}, 2, func(w *world) {
		const first, second, idle = "auto-20000101T000000Z-60", "auto-20000101T000100Z-60", "auto-20000101T000200Z-60"
		pass(30 * time.Second)
		w.publish("", "a", 5)
		pass(29 * time.Second)
		w.publish("", "b", 5) // at 59 s, or a little later: still the first minute
		pass(2 * time.Second)
		w.publish("", "a", 5) // the same ids in the next minute are other rows
		pass(2 * time.Second)
		if j := w.job(first); j.State != events.JobOpen || len(w.sim.Ledger().Creates) != 0 {
			w.t.Errorf("at 1:03 the first minute's job is %s: its slack is not over", j.State)
		}
		pass(10 * time.Minute)
		for job, want := range map[string]int{first: 10, second: 5} {
			if j := w.job(job); j.State != events.JobCompleted || w.results(job) != want {
				w.t.Errorf("%s is %s with %d results, want %d", job, j.State, w.results(job), want)
			}
		}
		if _, err := w.jobs.Job(w.t.Context(), queue, idle); err == nil {
			w.t.Error("a minute without rows has a job")
		}
		if got := len(w.sim.Ledger().Creates); got != 2 {
			w.t.Errorf("%d creates for two minutes", got)
		}
	})
}
