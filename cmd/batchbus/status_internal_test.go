package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// P68: whatever waits says why, what went wrong last and when it is tried next; and what is held, for how long and how it ends.
func TestP68AStatusSaysWhyEachBatchWaitsItsLastErrorAndItsNextTry(t *testing.T) {
	t.Parallel()
	next := time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	status := events.JobStatus{
		Queue: "q", Job: "nightly", State: events.JobPlanned,
		QueueHolds: []events.QueueHold{{Key: "k", Hold: events.Hold{Code: events.HoldCredit, Message: "no balance", At: ago(2 * time.Hour)}}},
		Batches: []events.Batch{
			{N: "1", State: events.BatchUploaded, Why: "capacity", LastError: "status 429", NextTryAt: &next},
			{N: "2", State: events.BatchUploaded, Why: events.HoldRefused, Hold: &events.Hold{Code: events.HoldRefused, Message: "odd", At: ago(90 * time.Second)}},
			{N: "3", State: events.BatchPlanned, Why: events.WhyQueueHeld, LastError: "out_of_credit: no balance"},
		},
	}
	var out bytes.Buffer
	if err := describeJob(&out, &status); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range [][]string{
		{"job nightly, queue q: planned"},
		{"queue q HELD out_of_credit for 2h0m", "no balance", "batchbus resume --queue q"},
		{"batch 1", "capacity", "status 429", "next try " + next.Local().Format(time.TimeOnly)},
		{"batch 2", "HELD refused for 1m3", "odd"},
		{"batch 3", "queue_held", "out_of_credit: no balance"},
	} {
		for _, text := range want {
			if i >= len(lines) || !strings.Contains(lines[i], text) {
				t.Errorf("line %d does not say %q:\n%s", i, text, out.String())
			}
		}
	}
}

func TestARunSaysWhenWhatWaitsIsTriedNext(t *testing.T) {
	t.Parallel()
	next := time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)
	b := events.Batch{N: "1", State: events.BatchUploaded, Why: "too_many_requests", LastError: "status 429"}
	if got := troubles([]events.Batch{b}); got != "batch 1: too_many_requests (status 429)" {
		t.Error(got)
	}
	b.NextTryAt = &next
	if got, want := troubles([]events.Batch{b}), "(status 429), next try "+next.Local().Format(time.TimeOnly); !strings.HasSuffix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAFollowerIsHeldByItsQueueOnlyWhileABatchOfTheJobWaitsForIt(t *testing.T) {
	t.Parallel()
	v := view{batches: []events.Batch{{N: "1", State: events.BatchSubmitted, Key: "k"}}}
	v.job.Queue = "q"
	v.budget.Holds = []events.QueueHold{{Key: "k", Hold: events.Hold{Code: events.HoldCredit, Message: "no balance"}}}
	if holds := v.holds(); len(holds) != 0 {
		t.Errorf("a job that runs is held: %v", holds)
	}
	v.batches = append(v.batches, events.Batch{N: "2", State: events.BatchUploaded, Key: "k", Why: events.WhyQueueHeld})
	if holds := v.holds(); len(holds) != 1 || !strings.Contains(holds[0], "batchbus resume --queue q") {
		t.Errorf("%v", holds)
	}
	v.budget.Holds = nil // resumed, and the sweep has not come yet
	if holds := v.holds(); len(holds) != 0 {
		t.Errorf("%v", holds)
	}
}
