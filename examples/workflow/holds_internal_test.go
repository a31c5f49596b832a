package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/examples/workflow/flow"
	"github.com/batchbus/batchbus/pkg/events"
)

// heldJobs are jobs by name.
type heldJobs map[string]events.JobStatus

func (h heldJobs) Job(_ context.Context, q events.JobRef) (events.JobStatus, error) {
	job, ok := h[q.Job]
	if !ok {
		return job, errors.New("unknown")
	}
	return job, nil
}

func TestWhatWaitsForAPersonIsSaidOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		hold := events.Hold{Code: "out_of_credit", Message: "top\x1b up"}
		held := heldJobs{
			"w":   {Job: "w", Hold: &hold},
			"w-2": {Job: "w-2", QueueHolds: []events.QueueHold{{Hold: hold}}, Batches: []events.Batch{{}, {Hold: &events.Hold{Code: "refused"}}}},
		}
		var said []string
		stop := watch(t.Context(), held, flow.Config{Queue: "default", Job: "w", Caps: flow.DefaultCaps(), Say: func(line string) { said = append(said, line) }})
		<-time.NewTimer(time.Minute).C
		stop()
		text := strings.Join(said, "\n")
		if len(said) != 3 || strings.ContainsRune(text, 0x1b) || !strings.Contains(text, "job w-2 is held: refused") {
			t.Errorf("it says\n%s", text)
		}
	})
}
