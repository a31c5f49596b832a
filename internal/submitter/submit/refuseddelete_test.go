package submit_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// undeletable never answers a create, and refuses to delete files.
func undeletable() simulator.Config {
	return simulator.Config{Faults: []simulator.Fault{
		{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: http.StatusGatewayTimeout},
		{Kind: simulator.FaultStatus, Route: "DELETE /v1/files/{id}", Status: http.StatusMethodNotAllowed, Count: -1},
	}}
}

func TestAFileThatTheProviderRefusesToDeleteHoldsTheFenceForAPerson(t *testing.T) {
	t.Parallel()
	bubble(t, undeletable(), func(w *world) {
		w.plan(2)
		s := w.process(w.client, nil)
		b := w.drive(s, "1")
		if b.State != events.BatchFencing || b.Hold == nil || b.Hold.Code != events.HoldFence || !strings.Contains(b.Hold.Message, b.FileID) {
			w.t.Fatalf("state %+v, hold %+v", b.Batch, b.Hold)
		}
		w.wish("1", events.WishAdopt, "no id at all")
		reason := b.Hold.Message
		for range 2 { // the reason stays readable, however often somebody is wrong
			w.wish("1", events.WishAdopt, "no id at all")
			b = w.drive(s, "1")
			if b.Wish != nil || b.Hold == nil || b.Hold.Message != reason+" | not done: the provider has no batch no id at all" {
				w.t.Errorf("after a wish that cannot be fulfilled: %+v, hold %+v", b.Wish, b.Hold)
			}
		}
		w.wish("1", events.WishAbandon, "")
		if b = w.drive(s, "1"); !b.State.Ended() || len(b.FollowUps) != 1 {
			w.t.Fatalf("abandoned: %+v", b.Batch)
		}
		follow := w.drive(s, "1-1")
		w.onlyLive(&follow)
		if n := len(w.sim.Ledger().Creates); n != 1 {
			w.t.Errorf("%d creates", n)
		}
	})
}
