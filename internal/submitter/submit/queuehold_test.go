package submit_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const balance = "Insufficient balance. Please add credits to continue."

// gate stands before the provider's create and refuses what it is told to, for as long as it is told to.
type gate struct {
	base    http.RoundTripper
	status  int
	text    string
	only    string // refuses only bodies that hold it
	open    atomic.Bool
	refused atomic.Int64
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/batches") || g.open.Load() {
		return g.base.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !bytes.Contains(body, []byte(g.only)) {
		return g.base.RoundTrip(r)
	}
	g.refused.Add(1)
	return &http.Response{
		StatusCode: g.status, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(g.text)),
	}, nil
}

// gated is the world's provider behind a gate.
func (w *world) gated(g *gate) *doubleword.Client {
	w.t.Helper()
	g.base = simulator.Transport{Handler: w.sim}
	client, err := doubleword.New(doubleword.Config{
		BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("sk-test"), Transport: g, RetryTimeout: -1,
	})
	w.check(err)
	return client
}

// runFor runs processes for a while.
func (w *world) runFor(d time.Duration, processes ...*submit.Submitter) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), d)
	defer stop()
	var group errgroup.Group
	for _, s := range processes {
		group.Go(func() error { return s.Run(ctx) })
	}
	w.check(group.Wait())
}

// queueEvents are the kinds of the queue's own events so far, in order.
func (w *world) queueEvents() (kinds []events.Kind) {
	w.t.Helper()
	for m, err := range w.bus.Read(w.t.Context(), jetstore.StreamJobs, events.PrefixEvents+"queue.>", 1) {
		w.check(err)
		e, err := events.ParseEvent(m.Data)
		w.check(err)
		if e.BudgetState == nil || e.Job != events.NoJob || m.Subject != e.Subject() {
			w.t.Errorf("event %s", m.Data)
		}
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func (w *world) resumeQueue() []events.QueueHold {
	w.t.Helper()
	ended, err := w.jobs.ResumeQueue(w.t.Context(), queue, "")
	w.check(err)
	return ended
}

// awaitsQueue fails the test unless the batch says that it waits for its queue, and for what.
func (w *world) awaitsQueue(n string) {
	w.t.Helper()
	b := w.batch(n)
	if b.State != events.BatchPlanned && b.State != events.BatchUploaded || b.Why != events.WhyQueueHeld || b.Hold != nil ||
		!strings.Contains(b.LastError, "402") {
		w.t.Errorf("batch %s: %+v", n, b.Batch)
	}
}

// seldom makes long waits cheap.
func seldom(c *submit.Config) { c.SweepInterval = 10 * time.Minute }

func TestP47OutOfCreditHoldsTheQueueOnceHoweverManyBatchesAndReplicasAndResumeLetsAllGoOn(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		rows := slices.Repeat([]int{1}, 20)
		w.plan(rows...)
		g := &gate{status: 402, text: balance}
		provider := w.gated(g)
		replicas := []*submit.Submitter{w.process(provider, seldom), w.process(provider, seldom)}
		w.runFor(20*time.Minute, replicas...)
		refused, calls := g.refused.Load(), w.sim.Ledger().Calls
		if most := int64(len(replicas) * submit.DefaultWorkers); refused == 0 || refused > most {
			t.Errorf("%d creates, want at most one of each worker, %d", refused, most)
		}
		w.runFor(3*time.Hour, replicas...)
		w.runFor(time.Hour, w.process(provider, seldom)) // one that knows nothing yet
		after := w.sim.Ledger().Calls
		if g.refused.Load() != refused || after["POST /v1/files"] != calls["POST /v1/files"] || after["GET /v1/batches"] != calls["GET /v1/batches"] {
			t.Errorf("a held queue calls: %d creates then and %d now, %v then and %v now", refused, g.refused.Load(), calls, after)
		}
		for i := range rows {
			w.awaitsQueue(strconv.Itoa(i + 1))
		}
		if kinds := w.queueEvents(); !slices.Equal(kinds, []events.Kind{events.QueueHeld}) {
			t.Errorf("events %v", kinds)
		}
		budget, err := w.jobs.Budget(w.t.Context(), queue)
		w.check(err)
		if hold, held := budget.Stops(key); !held || hold.Code != events.HoldCredit || !strings.Contains(hold.Message, balance) || time.Since(hold.At) < 3*time.Hour {
			t.Errorf("hold %+v", hold)
		}

		g.open.Store(true)
		w.resumeQueue()
		w.runFor(20*time.Minute, replicas...)
		for i := range rows {
			b := w.batch(strconv.Itoa(i + 1))
			w.onlyLive(&b)
		}
		if kinds := w.queueEvents(); !slices.Equal(kinds, []events.Kind{events.QueueHeld, events.QueueResumed}) || len(w.sim.Ledger().Creates) != len(rows) {
			t.Errorf("events %v, %d creates", kinds, len(w.sim.Ledger().Creates))
		}
		if ended := w.resumeQueue(); len(ended) != 0 {
			t.Errorf("ended twice: %+v", ended)
		}
	})
}

func TestASpendingCapHoldsTheQueueLikeAnEmptyAccountAndOnlyForItsKey(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		w.another("2", func(b *jobs.Batch) { b.Key = "spare" })
		w.another("3", func(*jobs.Batch) {})
		provider := w.gated(&gate{status: 402, text: "Spending cap of this API key is exhausted"})
		s := w.process(provider, func(c *submit.Config) {
			c.Provider = func(name string) (submit.Provider, bool) {
				if name == "spare" {
					return w.client, true
				}
				return provider, true
			}
		})
		w.drive(s, "1")
		spare := w.drive(s, "2")
		w.onlyLive(&spare)
		w.drive(s, "3")
		w.awaitsQueue("1")
		w.awaitsQueue("3")
		if b := w.batch("3"); b.State != events.BatchPlanned || len(w.sim.Ledger().Uploads) != 2 {
			t.Errorf("a batch of a held queue is not uploaded: %+v, %d uploads", b.Batch, len(w.sim.Ledger().Uploads))
		}
		if ended := w.resumeQueue(); len(ended) != 1 || ended[0].Key != key || !strings.Contains(ended[0].Message, "Spending cap") {
			t.Errorf("ended %+v", ended)
		}
	})
}

func TestAQueueThatIsResumedTooEarlyIsHeldAgainWithOneMoreEvent(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1, 1, 1)
		g := &gate{status: 402, text: balance}
		s := w.process(w.gated(g), nil)
		for i := range 3 {
			w.runFor(5*time.Minute, s)
			if got := len(w.queueEvents()); got != 2*i+1 {
				t.Errorf("%d events after %d refusals: %v", got, i+1, w.queueEvents())
			}
			w.resumeQueue()
		}
		if most := int64(3 * 3); g.refused.Load() > most {
			t.Errorf("%d creates", g.refused.Load())
		}
		g.open.Store(true)
		w.runFor(5*time.Minute, s)
		for _, n := range []string{"1", "2", "3"} {
			b := w.batch(n)
			w.onlyLive(&b)
		}
	})
}

func TestACancelledJobsBatchOfAHeldQueueEnds(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(3)
		s := w.process(w.gated(&gate{status: 402, text: balance}), nil)
		w.runFor(time.Minute, s)
		w.awaitsQueue("1")
		w.cancelJob()
		w.runFor(5*time.Minute, s)
		b := w.batch("1")
		w.allCancelled(&b, 3)
		if len(w.sim.Ledger().Creates) != 0 {
			t.Errorf("creates %+v", w.sim.Ledger().Creates)
		}
	})
}

// A fence that is under way when the queue is held comes to its end, and the POST behind it waits for the resume.
func TestAFenceOfAHeldQueueIsProvenAndPostsNothingUntilItIsResumed(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]simulator.Fault{
		"the file is deleted": nil,
		"the deletion is proven by a newer file": {
			{Kind: simulator.FaultStatus, Route: "DELETE /v1/files/{id}", Status: 404},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lost := simulator.Fault{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}
			bubble(t, simulator.Config{Faults: append(faults, lost)}, func(w *world) {
				w.plan(2)
				w.another("2", func(*jobs.Batch) {})
				g := &gate{status: 402, text: balance, only: "/2/"}
				provider := w.gated(g)
				s := w.process(provider, nil)
				_ = s.Submit(w.t.Context(), queue, job, "1")
				for range 2 * len(faults) { // the second delete is the one that reaches the file
					_, _ = w.client.DeleteFile(w.t.Context(), w.batch("1").FileID)
				}
				w.drive(s, "2")
				w.runFor(3*time.Hour, s)
				w.awaitsQueue("1")
				if b := w.batch("1"); b.Attempt != 2 || w.sim.Ledger().Calls["POST /v1/batches"] != 1 {
					t.Errorf("attempt %d, %d creates", b.Attempt, w.sim.Ledger().Calls["POST /v1/batches"])
				}
				g.open.Store(true)
				w.resumeQueue()
				w.runFor(5*time.Minute, s)
				b := w.batch("1")
				w.onlyLive(&b)
				if len(w.sim.Ledger().Creates) != 2 {
					t.Errorf("creates %+v", w.sim.Ledger().Creates)
				}
			})
		})
	}
}

// A create that another replica's hold overtakes, while its file is still being uploaded, is not sent.
func TestAQueueThatIsHeldDuringAnUploadStopsTheCreateBehindIt(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		s := w.process(&hooked{Provider: w.client, after: func(call string, _ int) error {
			if call != "upload" {
				return nil
			}
			budget, err := w.jobs.Budget(w.t.Context(), queue)
			w.check(err)
			budget.Hold(events.QueueHold{Hold: events.Hold{Code: events.HoldCredit, Message: "status 402", At: time.Now()}})
			change := jobs.NewChange(time.Now())
			change.Budget(&budget, events.QueueHeld, "")
			return w.jobs.Commit(w.t.Context(), change)
		}}, nil)
		w.drive(s, "1")
		w.awaitsQueue("1")
		if got := len(w.sim.Ledger().Creates); got != 0 {
			t.Errorf("%d creates in a held queue", got)
		}
	})
}
