package timewarp_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// A provider that is away for six hours costs nothing but time, whatever was under way when it went. It is not flooded meanwhile: each
// try is repeated within seconds a few times, as one does for a provider that stumbles, and then left for minutes.
func TestAProviderThatIsAwayForSixHoursCostsNothingButTime(t *testing.T) {
	t.Parallel()
	const away, rows, mostCalls = 6 * time.Hour, 30, 6 * 60 * 5 // one in twelve seconds
	for _, c := range []struct {
		name    string
		after   time.Duration // of the publish, when the way is set to be cut
		call    string        // the last one
		before  bool          // it does not arrive
		state   events.BatchState
		prepare func(w *world)
	}{
		{"before the upload", 0, "GET /v1/batches", true, events.BatchPlanned, nil},
		{"in the upload's answer", 0, "POST /v1/files", false, events.BatchPlanned, nil},
		{"between upload and create", 0, "POST /v1/batches", true, events.BatchCreating, nil},
		{"in the create's answer", 0, "POST /v1/batches", false, events.BatchCreating, sweepingByDefault},
		{"while polling", 5 * time.Minute, "GET /v1/batches", false, events.BatchSubmitted, nil},
		{"in a file", 5 * time.Minute, "GET /v1/files/", false, events.BatchFinished, sweepingByDefault},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inWorldOf(t, simulator.Config{Latency: latency}, 1, c.prepare, func(w *world) {
				if c.after == 0 {
					w.way.cutAt(c.call, c.before)
				}
				w.publish("far", "row", rows, events.HeaderSeal, "true")
				if c.after > 0 {
					pass(c.after)
					w.way.cutAt(c.call, c.before)
				}
				<-w.way.cut
				pass(away)
				w.waitsInTheOpen("far", c.state)
				if tries := w.way.mend(); tries > mostCalls {
					w.t.Errorf("%d calls in %s to a provider that is away, want at most %d", tries, away, mostCalls)
				} else {
					w.t.Logf("%d calls in %s", tries, away)
				}
				w.passUntil(2*time.Hour, "far")
				w.paidOnce("far", rows)
			})
		})
	}
}

// sweepingByDefault is for states that each sweep looks at, which must not mean that it asks the provider each time.
func sweepingByDefault(w *world) { w.sweepInterval = app.DefaultSettings().SweepInterval }

// latency is how long the provider takes for a batch.
const latency = 20 * time.Minute

// passUntil lets time go by until a job is completed. It may not be open yet.
func (w *world) passUntil(most time.Duration, job string) {
	for range most / (5 * time.Minute) {
		pass(5 * time.Minute)
		if j, err := w.jobs.Job(w.t.Context(), queue, job); err == nil && j.State == events.JobCompleted {
			return
		}
	}
}

// waitsInTheOpen checks that the only batch has not ended, and says why it waits.
func (w *world) waitsInTheOpen(job string, state events.BatchState) {
	w.t.Helper()
	b, err := w.jobs.Batch(w.t.Context(), queue, job, "1")
	if err != nil {
		w.t.Fatal(err)
	}
	if b.State.Ended() || b.State != state || b.LastError == "" || b.Why == "" {
		w.t.Errorf("the batch is %s (want %s), why %q, last error %q", b.State, state, b.Why, b.LastError)
	}
	for what, at := range map[string]*time.Time{"try": b.NextTryAt, "poll": b.NextPollAt} {
		if at != nil && time.Until(*at) < -time.Hour && state != events.BatchFinished { // which remembers a deadline there
			w.t.Errorf("the next %s was to be at %s", what, at)
		}
	}
	if w.job(job).State == events.JobCompleted {
		w.t.Error("the job is completed")
	}
}

// paidOnce checks that a job of one batch has ended, each row with one success and one payment.
func (w *world) paidOnce(job string, rows int) {
	w.t.Helper()
	b, err := w.jobs.Batch(w.t.Context(), queue, job, "1")
	if err != nil {
		w.t.Fatal(err)
	}
	j, ledger := w.job(job), w.sim.Ledger()
	if j.State != events.JobCompleted || j.Totals.Succeeded != rows || w.results(job) != rows || b.Hold != nil {
		w.t.Errorf("the job is %s with %d results, totals %+v; batch %s why %q last error %q hold %+v",
			j.State, w.results(job), j.Totals, b.State, b.Why, b.LastError, b.Hold)
	}
	if len(ledger.Creates) != 1 || ledger.RowsRun != rows || len(ledger.Cancels) != 0 {
		w.t.Errorf("the ledger has %d creates, %d rows run, %d cancels", len(ledger.Creates), ledger.RowsRun, len(ledger.Cancels))
	}
}
