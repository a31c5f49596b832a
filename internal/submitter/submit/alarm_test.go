package submit_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// unplaced is a provider whose creates never find a place in the budget.
type unplaced struct{ submit.Provider }

// CreateBatch implements submit.Provider.
func (unplaced) CreateBatch(context.Context, doubleword.NewBatch) (doubleword.Batch, error) {
	return doubleword.Batch{}, &doubleword.Error{Route: "POST /batches", Class: doubleword.Retryable}
}

// alarms is how often a person was asked to look at the batch.
func (w *world) alarms() (n int) {
	w.t.Helper()
	for _, kind := range w.kinds("1") {
		if kind == events.BatchNeedsAttention {
			n++
		}
	}
	return n
}

func TestABatchThatFindsNoWayToTheProviderForLongNeedsAttentionOnce(t *testing.T) {
	t.Parallel()
	always := func(f simulator.Fault) []simulator.Fault { f.Count = -1; return []simulator.Fault{f} }
	for name, c := range map[string]struct {
		faults   []simulator.Fault
		unplaced bool
		why      string
	}{
		"a create that never finds a place": {nil, true, "create_not_sent"},
		"a model without capacity": {always(simulator.Fault{
			Kind: simulator.FaultCreateRefused, Status: http.StatusTooManyRequests, Text: "Insufficient capacity for m in the 24h window. Try again later.",
		}), false, ""},
		"creates that are never answered": {always(simulator.Fault{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: http.StatusBadGateway}), false, ""},
		"uploads that always fail":        {always(simulator.Fault{Kind: simulator.FaultStatus, Route: "POST /v1/files", Status: http.StatusBadGateway}), false, ""},
		"lists that always fail":          {always(simulator.Fault{Kind: simulator.FaultStatus, Route: "GET /v1/batches", Status: http.StatusBadGateway}), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Faults: c.faults}, func(w *world) {
				w.plan(1)
				var provider submit.Provider = w.client
				if c.unplaced {
					provider = unplaced{w.client}
				}
				one, two := w.process(provider, nil), w.process(provider, nil)
				w.runFor(20*time.Minute, one, two)
				early := w.alarms()
				w.runFor(5*time.Hour, one, two)
				told := w.alarms()
				if early != 0 || told != 1 {
					t.Errorf("%d events early, then %d", early, told)
				}
				if b := w.batch("1"); b.State == events.BatchSubmitted || b.Hold != nil || !strings.Contains(b.Why, c.why) {
					t.Errorf("batch %s, why %q, hold %+v", b.State, b.Why, b.Hold)
				}
			})
		})
	}
}
