package integration_test

import (
	"context"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// TestTheSameIDsInTwoQueuesAndTwoJobsAreDifferentRows publishes one file to jobs of one name in two queues, and to a second job: field report P16.
func TestTheSameIDsInTwoQueuesAndTwoJobsAreDifferentRows(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{}).start()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ids := []string{"case-1", "case 2", strings.Repeat("k", 1024)}
	var file strings.Builder
	for _, id := range ids {
		file.WriteString(chat(id, "m", "hello") + "\n")
	}
	places := []events.JobRef{{Queue: queue, Job: "nightly"}, {Queue: queue, Job: "weekly"}, {Queue: "tenant-b", Job: "nightly"}}
	for _, at := range places {
		n, err := s.bus.Client.Publish(ctx, client.Input{Queue: at.Queue, Job: at.Job, Rows: strings.NewReader(file.String()), Digest: "the same file"})
		if err == nil {
			err = s.bus.Client.Seal(ctx, at.Queue, at.Job, n)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range places {
		s.await(jetstore.StreamEvents, events.EventSubject(events.JobDone, at.Queue, at.Job, ">"), 1)
		seen := map[string]int{}
		for r, err := range s.bus.Client.Results(ctx, at.Queue, at.Job, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if seen[r.CustomID]++; r.Outcome != events.Succeeded || r.Queue != at.Queue || r.Job != at.Job {
				t.Errorf("%v: %.300s", at, r.Raw)
			}
		}
		for _, id := range ids {
			if seen[id] != 1 {
				t.Errorf("%v: %d results of %.20s", at, seen[id], id)
			}
		}
		for d, err := range s.bus.Client.DeadLetters(ctx, at.Queue, at.Job, 0) {
			t.Errorf("%v: dead letter %s, %v", at, d.Code, err)
		}
	}
	wantPaid(t, s.ledger(), len(places), len(places)*len(ids))
}
