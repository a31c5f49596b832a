package submit_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// restore puts a batch back to an earlier state, as a restored bus would have it.
func (w *world) restore(n string, state events.BatchState) {
	w.t.Helper()
	w.edit(n, func(b *jobs.Batch) { b.State, b.ProviderBatchID, b.SubmittedAt, b.Hold = state, "", nil, nil })
}

func (w *world) allCancelled(b *jobs.Batch, rows int) {
	w.t.Helper()
	if b.State != events.BatchCancelled || b.Totals == nil || b.Totals.Cancelled != rows || len(b.FollowUps) != 0 {
		w.t.Errorf("state %+v totals %+v", b.Batch, b.Totals)
	}
	results := w.results()
	for id, r := range results {
		if r.Outcome != events.Cancelled || r.Error.Code != events.CodeCancelled || r.Attempt != 0 {
			w.t.Errorf("%s: %+v", id, r)
		}
	}
	if len(results) != rows || len(w.live(b.N)) != 0 {
		w.t.Errorf("%d results of %d rows, live %v", len(results), rows, w.live(b.N))
	}
	j, err := w.jobs.Job(w.t.Context(), queue, job)
	w.check(err)
	if j.State != events.JobCompleted || j.Totals.Cancelled != rows {
		w.t.Errorf("job %+v", j.Job)
	}
}

func TestACancelledJobsBatchThatIsNotAtTheProviderEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults  []simulator.Fault
		before  func(w *world) // brings the batch to its state
		deletes int
	}{
		"from planned": {before: func(*world) {}},
		"from uploaded, held out of credit": {
			faults:  []simulator.Fault{{Kind: simulator.FaultCreateRefused, Status: 402}},
			before:  func(w *world) { w.drive(w.process(w.client, nil), "1") },
			deletes: 1,
		},
		"from creating, after the fence": {
			faults: []simulator.Fault{{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}},
			before: func(w *world) { _ = w.process(w.client, nil).Submit(w.t.Context(), queue, job, "1") }, deletes: 1,
		},
		"from fencing": {
			faults: []simulator.Fault{{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}},
			before: func(w *world) {
				s := w.process(w.client, nil)
				for w.batch("1").State != events.BatchFencing {
					_ = s.Submit(w.t.Context(), queue, job, "1")
					pass(time.Minute)
				}
			}, deletes: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Faults: c.faults}, func(w *world) {
				w.plan(3)
				c.before(w)
				w.cancelJob()
				b := w.drive(w.process(w.client, nil), "1")
				w.allCancelled(&b, 3)
				if got := len(w.sim.Ledger().Deletes); got < c.deletes {
					t.Errorf("%d files deleted, want %d", got, c.deletes)
				}
			})
		})
	}
}

func TestACancelledJobsUnansweredBatchThatRunsIsAdoptedAndStopped(t *testing.T) {
	t.Parallel()
	faults := []simulator.Fault{{Kind: simulator.FaultCreateReplyLost}}
	bubble(t, simulator.Config{Faults: faults, Latency: 1000 * time.Hour}, func(w *world) {
		w.plan(3)
		s := w.process(w.client, nil)
		_ = s.Submit(w.t.Context(), queue, job, "1")
		w.cancelJob()
		b := w.drive(s, "1")
		if b.State != events.BatchSubmitted || len(w.live("1")) != 0 || len(w.results()) != 0 {
			t.Errorf("state %+v, live %v, results %v", b.Batch, w.live("1"), w.results())
		}
	})
}

func TestACancelledJobsSubmittedBatchIsStoppedByTheSweepUnlessItHasEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		latency time.Duration
		cancels int
		status  string
	}{
		"a running batch is stopped":        {latency: 1000 * time.Hour, cancels: 1, status: doubleword.StatusCancelled},
		"a completed batch stays completed": {status: doubleword.StatusCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := []simulator.Fault{{Kind: simulator.FaultStatus, Route: "POST /v1/batches/{id}/cancel", Status: 503}}
			bubble(t, simulator.Config{Latency: c.latency, Faults: faults}, func(w *world) {
				w.plan(1)
				s := w.process(w.client, nil)
				b := w.drive(s, "1")
				pass(time.Minute)
				w.cancelJob()
				for range 3 {
					w.check(s.Sweep(w.t.Context()))
					pass(time.Minute)
				}
				remote, err := w.client.Batch(w.t.Context(), b.ProviderBatchID)
				w.check(err)
				if got := len(w.sim.Ledger().Cancels); got != c.cancels || remote.Status != c.status {
					t.Errorf("%d cancels, status %s", got, remote.Status)
				}
			})
		})
	}
}
