package submit_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// Contract 9.9: the quota rolls over the whole window, so it is waited for, visibly, with longer and longer pauses, and not for ever.
func TestDefence9_9AnUnverifiedQuotaIsWaitedForAWholeWindowAndThenHeldForThatBatchAlone(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2)
		w.another("2", func(*jobs.Batch) {})
		g := &gate{status: 429, text: simulator.TextUnverified, only: "/1/"}
		s := w.process(w.gated(g), seldom)
		w.runFor(20*time.Minute, s)
		b := w.batch("1")
		if b.Why != "unverified_quota" || b.QuotaSince == nil || b.NextTryAt == nil || b.NextTryAt.Before(time.Now()) || b.LastError == "" {
			t.Errorf("the wait is not to be seen: %+v", b.Batch)
		}
		other := w.batch("2")
		w.onlyLive(&other)
		w.runFor(25*time.Hour, s)
		b = w.batch("1")
		if b.Hold == nil || b.Hold.Code != events.HoldUnverifiedQuota || b.State != events.BatchUploaded {
			t.Errorf("after a whole window: %+v, hold %+v", b.Batch, b.Hold)
		}
		if got := g.refused.Load(); got < 5 || got > 12 {
			t.Errorf("%d creates in a day", got)
		}
		if len(w.queueEvents()) != 0 {
			t.Errorf("the queue is held for one batch: %v", w.queueEvents())
		}
		g.open.Store(true)
		b = w.wish("1", events.WishResume, "")
		if b.QuotaSince != nil {
			t.Errorf("resumed %+v", b.Batch)
		}
		w.runFor(20*time.Minute, s)
		b = w.batch("1")
		w.onlyLive(&b)
	})
}

func TestDefence9_9ABatchOfMoreRowsThanTheQuotaIsHeldAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(3)
		g := &gate{status: 429, text: "Unverified accounts can submit at most 2 requests per 24h completion window."}
		b := w.drive(w.process(w.gated(g), nil), "1")
		if b.Hold == nil || b.Hold.Code != events.HoldUnverifiedQuota || g.refused.Load() != 1 {
			t.Errorf("hold %+v after %d creates", b.Hold, g.refused.Load())
		}
	})
}

func TestDefence9_9CapacityStopsTheBatchesOfItsModelOnly(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		w.another("2", func(*jobs.Batch) {})
		g := &gate{status: 429, text: simulator.TextCapacity, only: "/1/"}
		s := w.process(w.gated(g), nil)
		w.runFor(time.Hour, s)
		b, other := w.batch("1"), w.batch("2")
		w.onlyLive(&other)
		if b.Why != "capacity" || b.Hold != nil || b.NextTryAt == nil || b.LastError == "" || len(w.queueEvents()) != 0 {
			t.Errorf("state %+v, hold %+v", b.Batch, b.Hold)
		}
		if got := g.refused.Load(); got < 5 || got > 13 {
			t.Errorf("%d creates in an hour", got)
		}
		g.open.Store(true)
		w.runFor(10*time.Minute, s)
		b = w.batch("1")
		w.onlyLive(&b)
	})
}
