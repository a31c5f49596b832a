package chaos_test

import (
	"net/http"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

// cancels are jobs that are cancelled in the middle.
func cancels() []scenario {
	return []scenario{cancelledRunning(), cancelledUnsent()}
}

// cancelledRunning: one job is cancelled while its batch runs, and one whose rows are in no batch yet.
func cancelledRunning() scenario {
	return scenario{
		name: "cancelled", limited: true, simulator: []string{"--rows-per-second=6"},
		madeFor: []failpoint.Point{"ingest.commit.job.cancelling", "submitter.call.cancel_batch", "submitter.call.get_batch"},
		run: func(w *world) {
			w.job("running", rows("row", "m", 40))
			w.publish("open", rows("row", "m", 5))
			w.until("some rows have run", func() bool { return w.Count(jetstore.StreamResults) >= 2 })
			for _, job := range []string{"running", "open"} {
				w.send(events.RequestSubject(rig.Queue, job), "", events.HeaderCancel, "true")
			}
		},
		want: expectation{dues: []due{
			{job: "running", published: 40}, {job: "open", published: 5, outcomes: map[string]int{"cancelled": 5}},
		}},
	}
}

// cancelledUnsent: a job is cancelled whose upload fails.
func cancelledUnsent() scenario {
	return scenario{
		name: "cancelled-unsent", madeFor: []failpoint.Point{"submitter.commit.batch.cancelled"},
		plays: func() []role {
			return []role{{name: "down", calls: callUpload, times: -1, play: refuse(http.StatusBadGateway, "")}}
		},
		run: func(w *world) {
			w.job("unsent", rows("row", "m", 5))
			w.event(events.BatchIsPlanned, "unsent")
			w.send(events.RequestSubject(rig.Queue, "unsent"), "", events.HeaderCancel, "true")
		},
		want: expectation{dues: []due{{job: "unsent", published: 5, outcomes: map[string]int{"cancelled": 5}}}},
	}
}
