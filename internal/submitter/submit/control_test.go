package submit_test

import (
	"bytes"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestARowAloneInItsFileThatIsRefusedWithoutALineIsRejected(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		p := &picky{Provider: w.client, refuse: refusing(422, "The budget is too small.", "row-1-0")}
		b := w.drive(w.process(p, nil), "1")
		r := w.results()["row-1-0"]
		if b.State != events.BatchRefused || r.Outcome != events.Rejected || r.Error.Code != events.CodeRefusedRow ||
			r.Error.Message != "The budget is too small." || r.Error.StatusCode != 422 {
			t.Errorf("state %s, hold %+v, result %+v", b.State, b.Hold, r)
		}
		ledger := w.sim.Ledger()
		if p.uploads != 3 || len(ledger.Uploads) != 1 || !ledger.Uploads[0].Deleted {
			t.Errorf("%d uploads; the provider has %+v", p.uploads, ledger.Uploads)
		}
	})
}

func TestARowAloneInItsFileStaysWhenNothingShowsThatItIsAtFault(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		p := &picky{Provider: w.client, refuse: refusing(400, "Unsupported.", "row-1-0", "control")}
		b := w.drive(w.process(p, nil), "1")
		if b.State != events.BatchPlanned || b.Hold == nil || b.Hold.Code != events.HoldRefused || len(w.results()) != 0 {
			t.Errorf("state %s, hold %+v, results %v", b.State, b.Hold, w.results())
		}
		if p.uploads != 2 {
			t.Errorf("%d uploads, want the row and the control", p.uploads)
		}
	})
}

func TestARowAloneInItsFileRunsWhenTheRefusalHasGone(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		p := &picky{Provider: w.client}
		p.refuse = func(file []byte) error {
			if p.uploads == 1 && bytes.Contains(file, []byte("row-1-0")) {
				return refusal(400, "Try again.")
			}
			return nil
		}
		b := w.drive(w.process(p, nil), "1")
		w.onlyLive(&b)
		if len(w.results()) != 0 {
			t.Errorf("results %v", w.results())
		}
	})
}
