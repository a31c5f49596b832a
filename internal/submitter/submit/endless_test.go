package submit_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// withoutEnd is a provider whose search shows ever new batches of others until the client gives up.
type withoutEnd struct {
	submit.Provider

	cured bool
}

func (p *withoutEnd) AllBatches(ctx context.Context, q doubleword.BatchQuery) iter.Seq2[doubleword.Batch, error] {
	if p.cured {
		return p.Provider.AllBatches(ctx, q)
	}
	return func(yield func(doubleword.Batch, error) bool) {
		_ = yield(doubleword.Batch{ID: "another"}, nil) && yield(doubleword.Batch{}, doubleword.ErrEndless)
	}
}

func TestASearchWithoutAnEndIsNoProofThatNoBatchIsThere(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2)
		provider := &withoutEnd{Provider: w.client}
		s := w.process(provider, nil)
		for range 20 {
			if err := s.Submit(w.t.Context(), queue, job, "1"); err == nil || errors.Is(err, context.Canceled) {
				t.Fatalf("submitted: %v", err)
			}
			pass(10 * time.Minute)
		}
		if b := w.batch("1"); b.Why != "list_failed" || b.LastError == "" || b.State == events.BatchSubmitted {
			t.Errorf("state %+v", b.Batch)
		}
		if n := len(w.sim.Ledger().Creates); n != 0 {
			t.Errorf("%d creates", n)
		}
		provider.cured = true
		b := w.drive(s, "1")
		w.onlyLive(&b)
	})
}
