package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestAQueueIsPausedOnceAndShowsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.open("nightly")
	for range 2 {
		q, err := r.client.PauseQueue(t.Context(), events.PauseQueue{Message: "a deploy"})
		if err != nil || len(q.Holds) != 1 || q.Holds[0].Code != events.HoldPaused || q.Holds[0].Message != "a deploy" || q.Holds[0].Key != "" {
			t.Errorf("%+v, %v", q, err)
		}
	}
	if alone, listed := r.queueHolds("nightly"); len(alone) != 1 || len(listed) != 1 || alone[0] != "paused " {
		t.Errorf("%v, %v", alone, listed)
	}
	r.heldQueue(queue, "default", events.HoldCredit)
	resumed, err := r.client.ResumeJobs(t.Context(), events.ResumeJobs{JobRef: events.JobRef{Queue: queue}})
	if err != nil || len(resumed) != 2 || !resumed[0].Ended || resumed[0].Code != events.HoldCredit || resumed[1].Ended || !strings.Contains(resumed[1].Why, "queues resume") {
		t.Errorf("credit was put in, and the pause is ended with it: %+v, %v", resumed, err)
	}
	for range 2 {
		if q, err := r.client.ResumeQueue(t.Context(), queue); err != nil || len(q.Holds) != 0 {
			t.Errorf("%+v, %v", q, err)
		}
	}
	for kind, want := range map[events.Kind]int{events.QueueHeld: 2, events.QueueResumed: 2} { // one of each is the credit's
		r.wantsEvents(kind, want)
	}
	for _, request := range []string{`{"queue":"a.b"}`, `{"message":"` + strings.Repeat("x", 1025) + `"}`, `{"job":"x"}`} {
		if answer := r.ask("batchbus.api.queues.pause", request); answer.Header.Get("Nats-Service-Error-Code") != events.APIBadRequest {
			t.Errorf("%.40s: %s", request, answer.Data)
		}
	}
}

// wantsEvents waits until so many events of a kind are told of the queue: they are copied from the states' stream.
func (r *rig) wantsEvents(kind events.Kind, want int) {
	r.t.Helper()
	n := 0
	begun := time.Now()
	for tick := time.NewTicker(20 * time.Millisecond); time.Since(begun) < 30*time.Second; <-tick.C {
		n = 0
		for _, err := range r.Store.Read(r.t.Context(), jetstore.StreamEvents, events.EventSubject(kind, queue, events.NoJob, ">"), 0) {
			if err != nil {
				r.t.Fatal(err)
			}
			n++
		}
		if n >= want {
			break
		}
	}
	if n != want {
		r.t.Errorf("%d events %s, want %d", n, kind, want)
	}
}

func TestBatchesAreListedByPagesAndFiltered(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.open("nightly")
	r.open("weekly")
	for _, n := range []string{"1", "2", "3", "10"} {
		r.batch("nightly", n, "remote-"+n, 0)
	}
	change := jobs.NewChange(time.Now())
	change.Batch(&jobs.Batch{Batch: events.Batch{Queue: queue, Job: "weekly", N: "1", State: events.BatchPlanned, Why: events.WhyQueueHeld}})
	if err := r.jobs.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	list := func(q events.ListBatches) string {
		var all []string
		for b, err := range r.client.Batches(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b.Job+"/"+b.N)
		}
		return strings.Join(all, " ")
	}
	for limit := range 7 {
		for want, q := range map[string]events.ListBatches{
			"nightly/1 nightly/2 nightly/3 nightly/10 weekly/1": {Limit: limit},
			"nightly/1 nightly/2 nightly/3 nightly/10":          {Job: "nightly", Limit: limit},
			"weekly/1": {State: events.BatchPlanned, Limit: limit, Queue: queue},
			"":         {Queue: "night", Limit: limit},
		} {
			if got := list(q); got != want {
				t.Errorf("%+v: %s, want %s", q, got, want)
			}
		}
	}
	if got := list(events.ListBatches{Held: true}); got != "weekly/1" {
		t.Errorf("held: %s", got)
	}
	b, err := r.client.Batch(t.Context(), events.GetBatch{JobRef: events.JobRef{Job: "nightly"}, N: "10"})
	if err != nil || b.N != "10" || b.State != events.BatchSubmitted {
		t.Errorf("%+v, %v", b, err)
	}
	for request, code := range map[string]string{
		`{"job":"nightly","n":"11"}`: events.APIUnknownBatch, `{"job":"none","n":"1"}`: events.APIUnknownJob, `{"job":"nightly","n":"*"}`: events.APIBadRequest,
	} {
		if answer := r.ask("batchbus.api.batches.get", request); answer.Header.Get("Nats-Service-Error-Code") != code {
			t.Errorf("%s: %s", request, answer.Data)
		}
	}
	for _, request := range []string{`{"limit":-1}`, `{"state":"odd"}`, `{"queue":"a.*"}`, `{"job":">"}`, `{"what":1}`} {
		if answer := r.ask("batchbus.api.batches.list", request); answer.Header.Get("Nats-Service-Error-Code") != events.APIBadRequest {
			t.Errorf("%s: %s", request, answer.Data)
		}
	}
}
