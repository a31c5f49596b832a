package submit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// hookedBus is the bus with something done after a batch's changes to a state.
type hookedBus struct {
	*jetstore.Store
	after func(b *events.Batch) error // an error replaces the answer
}

func (h *hookedBus) Commit(ctx context.Context, changes ...jetstore.Change) ([]uint64, error) {
	revisions, err := h.Store.Commit(ctx, changes...)
	if err != nil || !strings.HasPrefix(changes[0].Subject, jetstore.KeySubject("batch.")) {
		return revisions, err
	}
	b, err := events.ParseBatch(changes[0].Value)
	if err == nil {
		err = h.after(&b)
	}
	return revisions, err
}

// onBus is a process whose changes go through a hook.
func (w *world) onBus(after func(b *events.Batch) error) *submit.Submitter {
	w.t.Helper()
	return w.process(w.client, func(c *submit.Config) { c.Jobs = jobs.New(&hookedBus{Store: w.bus, after: after}) })
}

func TestNothingIsPostedOnAChangeThatTookTooLong(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		slow := 0
		s := w.onBus(func(b *events.Batch) error {
			if b.State == events.BatchCreating && slow < 2 {
				slow++
				pass(6 * time.Second)
			}
			return nil
		})
		_ = s.Submit(w.t.Context(), queue, job, "1")
		if b := w.batch("1"); b.State != events.BatchUploaded || b.Why != "create_not_sent" || w.sim.Ledger().Calls["POST /v1/batches"] != 0 {
			t.Errorf("state %+v after %d POSTs", b.Batch, w.sim.Ledger().Calls["POST /v1/batches"])
		}
		b := w.drive(s, "1")
		w.onlyLive(&b)
		if w.sim.Ledger().Calls["POST /v1/batches"] != 1 || b.Attempt != 1 {
			t.Errorf("%d POSTs, attempt %d", w.sim.Ledger().Calls["POST /v1/batches"], b.Attempt)
		}
	})
}

func TestNothingIsPostedOnAChangeOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		lost := false
		s := w.onBus(func(b *events.Batch) error {
			if b.State == events.BatchCreating && !lost {
				lost = true
				return jetstore.ErrUnknown
			}
			return nil
		})
		_ = s.Submit(w.t.Context(), queue, job, "1")
		if got := w.sim.Ledger().Calls["POST /v1/batches"]; got != 0 {
			t.Errorf("%d POSTs on a change that may not be ours", got)
		}
		b := w.drive(s, "1")
		w.onlyLive(&b)
	})
}

func TestAnAnswerThatCannotBeStoredIsFoundAgain(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		failed := false
		s := w.onBus(func(b *events.Batch) error { return nil })
		broken := w.process(&hooked{Provider: w.client, after: func(call string, _ int) error {
			if call == "create" && !failed {
				failed = true
				w.edit("1", func(b *jobs.Batch) { b.Why = "somebody else was here" })
			}
			return nil
		}}, nil)
		_ = broken.Submit(w.t.Context(), queue, job, "1")
		b := w.drive(s, "1")
		w.onlyLive(&b)
		if len(w.sim.Ledger().Creates) != 1 {
			t.Errorf("%d creates", len(w.sim.Ledger().Creates))
		}
	})
}

func TestAnAnswerThatComesWhileTheProcessIsToldToStopIsKept(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		ctx, stop := context.WithCancel(w.t.Context())
		s := w.process(&hooked{Provider: w.client, before: func(call string, _ int) error {
			if call == "create" {
				stop()
				pass(submit.DefaultDrainTimeout - time.Second)
			}
			return nil
		}}, nil)
		_ = s.Submit(ctx, queue, job, "1")
		b := w.batch("1")
		w.onlyLive(&b)
	})
}

// endless is a provider whose creates end only with their context.
type endless struct {
	*doubleword.Client
	took *time.Duration
}

func (e endless) CreateBatch(ctx context.Context, _ doubleword.NewBatch) (doubleword.Batch, error) {
	start := time.Now()
	<-ctx.Done()
	*e.took = time.Since(start)
	return doubleword.Batch{}, errors.New("no answer")
}

func TestAPOSTHasOneHardDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1, 1)
		var took time.Duration
		s := w.process(endless{w.client, &took}, nil)
		_ = s.Submit(w.t.Context(), queue, job, "1")
		if took != doubleword.DefaultCreateTimeout {
			t.Errorf("the POST ended after %s", took)
		}
		ctx, stop := context.WithTimeout(w.t.Context(), time.Second)
		defer stop()
		_ = s.Submit(ctx, queue, job, "2")
		if took > submit.DefaultDrainTimeout+time.Second {
			t.Errorf("a POST ended %s after the process was told to stop", took)
		}
		if b := w.batch("2"); b.State != events.BatchCreating || b.LastError == "" {
			t.Errorf("state %+v", b.Batch)
		}
	})
}

func TestALongUploadKeepsItsFence(t *testing.T) {
	t.Parallel()
	faults := []simulator.Fault{{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}}
	bubble(t, simulator.Config{Faults: faults}, func(w *world) {
		w.plan(1)
		uploads, slow := 0, make(chan struct{})
		owner := w.process(&hooked{Provider: w.client, before: func(call string, _ int) error {
			if call != "upload" {
				return nil
			}
			if uploads++; uploads == 2 {
				close(slow)
				pass(3 * time.Hour)
			}
			return nil
		}}, nil)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.drive(owner, "1")
		}()
		<-slow
		b := w.drive(w.process(w.client, nil), "1")
		<-done
		w.onlyLive(&b)
		if b.Attempt != 2 || len(w.sim.Ledger().Uploads) != 2 {
			t.Errorf("attempt %d and %d uploads: the fence was taken from its owner", b.Attempt, len(w.sim.Ledger().Uploads))
		}
	})
}

func TestAWaitIsVisibleAndManyFailuresAskForAttention(t *testing.T) {
	t.Parallel()
	faults := []simulator.Fault{{Kind: simulator.FaultStatus, Route: "GET /v1/batches", Status: 503, Count: 12}}
	bubble(t, simulator.Config{Faults: faults}, func(w *world) {
		w.plan(1)
		s := w.process(w.client, nil)
		_ = s.Submit(w.t.Context(), queue, job, "1")
		if b := w.batch("1"); b.Why != "list_failed" || b.NextTryAt == nil || b.LastError == "" || strings.Contains(b.LastError, "sk-test") {
			t.Errorf("state %+v", b.Batch)
		}
		b := w.drive(s, "1")
		w.onlyLive(&b)
		if b.Why != "" || b.LastError != "" || !slices.Contains(w.kinds("1"), events.BatchNeedsAttention) {
			t.Errorf("state %+v, events %v", b.Batch, w.kinds("1"))
		}
	})
}

func TestASweepCompletesAJobWhoseLastBatchEndedUnseen(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		w.edit("1", func(b *jobs.Batch) {
			b.State, b.Totals = events.BatchRefused, &events.Totals{Rows: 1, Rejected: 1}
		})
		w.check(w.process(w.client, nil).Sweep(w.t.Context()))
		j, err := w.jobs.Job(w.t.Context(), queue, job)
		w.check(err)
		if j.State != events.JobCompleted || j.Totals.Rejected != 1 {
			t.Errorf("job %+v", j.Job)
		}
	})
}

func TestASubmitterWithoutItsPartsIsNotMade(t *testing.T) {
	t.Parallel()
	if _, err := submit.New(submit.Config{}); err == nil {
		t.Error("made out of nothing")
	}
}
