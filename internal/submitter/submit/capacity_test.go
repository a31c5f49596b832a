package submit_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestABatchAsLargeAsOneThatFoundNoCapacityWaitsUnsentAndASmallerOneIsTried(t *testing.T) {
	t.Parallel()
	faults := []simulator.Fault{{
		Kind: simulator.FaultCreateRefused, Status: http.StatusTooManyRequests,
		Text: "Insufficient capacity for 24h completion window. The following models do not have enough capacity: m. Try again later or use a longer completion window.",
	}}
	bubble(t, simulator.Config{Faults: faults}, func(w *world) {
		w.plan(3, 3, 1)
		s := w.process(w.client, nil)
		for _, n := range []string{"1", "2", "3"} {
			_ = s.Submit(w.t.Context(), queue, job, n)
		}
		calls := w.sim.Ledger().Calls
		if calls["POST /v1/files"] != 2 || calls["POST /v1/batches"] != 2 {
			t.Errorf("%d uploads and %d creates, want those of the first and of the small one", calls["POST /v1/files"], calls["POST /v1/batches"])
		}
		second := w.batch("2")
		if second.State != events.BatchPlanned || second.Why != "capacity" || second.NextTryAt == nil || second.LastError == "" {
			t.Errorf("the second one does not say that it waits: %+v", second.Batch)
		}
		if third := w.batch("3"); third.State != events.BatchSubmitted {
			t.Errorf("the small one is %s: %s", third.State, third.Why)
		}
		begin := time.Now()
		w.drive(s, "2")
		if waited := time.Since(begin); waited < 4*time.Minute || waited > 6*time.Minute {
			t.Errorf("the second one waited for %s", waited)
		}
		w.drive(s, "1")
		for _, n := range []string{"1", "2"} {
			b := w.batch(n)
			w.onlyLive(&b)
		}
	})
}
