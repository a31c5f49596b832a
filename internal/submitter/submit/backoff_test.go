package submit_test

import (
	"context"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// A provider that is away for long must not be asked at every sweep, and what the state promises as the next try must be true. A process
// that starts anew, with a corrected key perhaps, tries at once.
func TestSweepsKeepTheGrowingWaitAndANewProcessTriesAtOnce(t *testing.T) {
	t.Parallel()
	const lists = "GET /v1/batches"
	faults := []simulator.Fault{{Kind: simulator.FaultStatus, Route: lists, Status: 401, Count: 6}}
	bubble(t, simulator.Config{Faults: faults}, func(w *world) {
		w.plan(1)
		quick := func(c *submit.Config) { c.SweepInterval = 2 * time.Second }
		sweepFor := func(d time.Duration) {
			ctx, cancel := context.WithTimeout(w.t.Context(), d)
			defer cancel()
			w.check(w.process(w.client, quick).Run(ctx))
		}
		sweepFor(4 * time.Minute) // tries after 0, 5, 15, 35, 75 and 155 s, and sweeps 120 times
		if calls := w.sim.Ledger().Calls[lists]; calls > 6 {
			t.Errorf("%d lists in four minutes of outage, want 6", calls)
		}
		if b := w.batch("1"); b.State != events.BatchPlanned || b.NextTryAt == nil || !b.NextTryAt.After(time.Now()) {
			t.Errorf("state %s, next try %v, now %v", b.State, b.NextTryAt, time.Now())
		}
		sweepFor(10 * time.Second)
		b := w.batch("1")
		w.onlyLive(&b)
	})
}
