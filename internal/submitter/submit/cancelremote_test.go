package submit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

const cancelRoute = "POST /v1/batches/{id}/cancel"

// sweeps lets a process sweep, so many times, a minute apart.
func (w *world) sweeps(s *submit.Submitter, n int) {
	w.t.Helper()
	for range n {
		w.check(s.Sweep(w.t.Context()))
		pass(time.Minute)
	}
}

// Contract 9.12 and section 6: a cancel is repeated until it is seen to have worked, whatever became of its answer, and not beyond.
func TestDefence9_12ACancelIsRepeatedUntilTheProviderShowsThatItWorkedAndNotBeyond(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults []simulator.Fault
		lost   bool // the first answer
		calls  int
	}{
		"at once":                          {calls: 1},
		"after a 404 of a known batch":     {faults: []simulator.Fault{{Kind: simulator.FaultStatus, Route: cancelRoute, Status: 404}}, calls: 2},
		"after a 500":                      {faults: []simulator.Fault{{Kind: simulator.FaultStatus, Route: cancelRoute, Status: 500}}, calls: 2},
		"after a page of HTML":             {faults: []simulator.Fault{{Kind: simulator.FaultStatus, Route: cancelRoute, Status: 502}}, calls: 2},
		"after the read before it failed":  {faults: []simulator.Fault{{Kind: simulator.FaultStatus, Route: "GET /v1/batches/{id}", Status: 404}}, calls: 1},
		"with an answer that never came":   {lost: true, calls: 1},
		"after five refusals of every try": {faults: []simulator.Fault{{Kind: simulator.FaultStatus, Route: cancelRoute, Status: 503, Count: 5}}, calls: 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Latency: forEver, Faults: c.faults}, func(w *world) {
				w.plan(2)
				lost := c.lost
				s := w.process(&hooked{Provider: w.client, after: func(call string, _ int) error {
					if call == "cancel" && lost {
						lost = false
						return errors.New("the answer is lost")
					}
					return nil
				}}, nil)
				b := w.drive(s, "1")
				w.cancelJob()
				w.sweeps(s, 1)
				if got := w.batch("1"); got.Why != "cancel_asked" && (got.Why != "cancel_failed" || got.LastError == "") {
					t.Errorf("what it waits for is not to be seen: %+v", got.Batch)
				}
				w.sweeps(s, 20)
				remote, err := w.client.Batch(w.t.Context(), b.ProviderBatchID)
				w.check(err)
				ledger := w.sim.Ledger()
				if remote.Status != doubleword.StatusCancelled || len(ledger.Cancels) != 1 || ledger.Calls[cancelRoute] != c.calls {
					t.Errorf("%s after %d cancels in %d calls, want %d", remote.Status, len(ledger.Cancels), ledger.Calls[cancelRoute], c.calls)
				}
				if got := w.batch("1"); got.Why != "cancel_asked" || got.LastError != "" || got.State != events.BatchSubmitted {
					t.Errorf("state %+v", got.Batch)
				}
			})
		})
	}
}

func TestDefence9_12ABatchThatFinishedUnseenIsNotCancelledHoweverOftenTheSweepLooks(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(3)
		s := w.process(w.client, nil)
		b := w.drive(s, "1")
		pass(time.Minute) // it completes, and no poller has seen that
		w.cancelJob()
		w.cancelJob() // twice
		w.sweeps(s, 5)
		w.sweeps(w.process(w.client, nil), 5)
		remote, err := w.client.Batch(w.t.Context(), b.ProviderBatchID)
		w.check(err)
		if got := w.sim.Ledger(); remote.Status != doubleword.StatusCompleted || got.Calls[cancelRoute] != 0 {
			t.Errorf("%s after %d cancels", remote.Status, got.Calls[cancelRoute])
		}
	})
}

// The wish comes while the POST is under way: the batch is made after it, and stopped.
func TestABatchThatIsCreatedAfterTheWishToCancelIsStopped(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{Latency: forEver}, func(w *world) {
		w.plan(3)
		s := w.process(&hooked{Provider: w.client, before: func(call string, _ int) error {
			if call == "create" {
				w.cancelJob()
			}
			return nil
		}}, nil)
		w.drive(s, "1")
		w.sweeps(s, 3)
		got := w.sim.Ledger()
		if b := w.batch("1"); b.State != events.BatchSubmitted || len(got.Creates) != 1 || len(got.Cancels) != 1 || len(w.live("1")) != 0 {
			t.Errorf("state %+v, %d creates, %d cancels", b.Batch, len(got.Creates), len(got.Cancels))
		}
	})
}
