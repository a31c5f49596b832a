package main

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestAHeldBatchEndsTheFollowingOnlyWhenNoOtherBatchGoesOn(t *testing.T) {
	t.Parallel()
	held := events.Batch{N: "2-2", State: events.BatchPlanned, Hold: &events.Hold{Code: events.HoldCredit}}
	for name, c := range map[string]struct {
		batches []events.Batch
		ends    bool
	}{
		"alone":                                 {[]events.Batch{held}, true},
		"beside one that runs":                  {[]events.Batch{{State: events.BatchSubmitted}, held}, false},
		"beside one that is settled":            {[]events.Batch{{State: events.BatchSettled}, held}, true},
		"beside one that waits for its queue":   {[]events.Batch{{State: events.BatchUploaded, Why: events.WhyQueueHeld}, held}, true},
		"beside another that waits for someone": {[]events.Batch{held, held}, true},
		"no hold at all":                        {[]events.Batch{{State: events.BatchSubmitted}}, false},
	} {
		f := follower{heldSince: time.Now().Add(-time.Hour)}
		f.batches = c.batches
		if err := f.held(); (err != nil) != c.ends {
			t.Errorf("%s: %v", name, err)
		}
	}
}
