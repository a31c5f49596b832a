package submit_test

import (
	"testing"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestARefusedUploadOfAnUnprovenFenceEndsNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simulator.Fault{
		"for a row":         {Status: 400, Text: "Line 1: the row is odd"},
		"for its size":      {Status: 413, Text: "too large"},
		"for nothing named": {Status: 400, Text: "no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault.Kind, fault.Nth = simulator.FaultUploadRefused, 2
			faults := []simulator.Fault{{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}, fault}
			bubble(t, simulator.Config{Faults: faults}, func(w *world) {
				w.plan(3)
				s := w.process(&vanished{Client: w.client, really: true}, nil)
				b := w.drive(s, "1")
				if b.State != events.BatchFencing || b.Hold == nil || b.Hold.Code != events.HoldFence || len(b.FollowUps)+len(w.results()) != 0 {
					t.Fatalf("state %+v hold %+v results %v", b.Batch, b.Hold, w.results())
				}
				w.edit("1", func(b *jobs.Batch) { b.Hold = nil })
				b = w.drive(s, "1")
				w.onlyLive(&b)
			})
		})
	}
}
