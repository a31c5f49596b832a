package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// heldQueue holds a queue itself.
func (r *rig) heldQueue(name, key, code string) {
	r.t.Helper()
	budget, err := r.jobs.Budget(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	budget.Hold(events.QueueHold{Key: key, Hold: events.Hold{Code: code, Message: "status 402", At: time.Now()}})
	change := jobs.NewChange(time.Now())
	change.Budget(&budget, events.QueueHeld, "")
	if err := r.jobs.Commit(r.t.Context(), change); err != nil {
		r.t.Fatal(err)
	}
}

// queueHolds are the codes and keys of what a job's status says of its queue, as the job itself and as a list tell it.
func (r *rig) queueHolds(job string) (alone, listed []string) {
	r.t.Helper()
	words := func(s events.JobStatus) (words []string) {
		for _, h := range s.QueueHolds {
			words = append(words, h.Code+" "+h.Key)
		}
		return words
	}
	status, err := r.client.Job(r.t.Context(), events.JobRef{Job: job})
	if err != nil {
		r.t.Fatal(err)
	}
	for s, err := range r.client.Jobs(r.t.Context(), "") {
		if err != nil {
			r.t.Fatal(err)
		}
		if s.Job == job {
			listed = words(s)
		}
	}
	return words(status), listed
}

func TestAJobSaysThatItsQueueIsHeldForItsKeyAndOnlyTheQueueIsResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.open("nightly")
	r.heldQueue(queue, "default", events.HoldCredit)
	r.heldQueue(queue, "spare", events.HoldCredit)
	r.heldQueue("elsewhere", "", events.HoldCredit)
	want := []string{"out_of_credit default"}
	if alone, listed := r.queueHolds("nightly"); !slices.Equal(alone, want) || !slices.Equal(listed, want) {
		t.Errorf("alone %v, listed %v", alone, listed)
	}
	r.held("nightly", "1", "", func(b *jobs.Batch) { b.Why = events.WhyQueueHeld })
	if got := r.resume(events.ResumeJobs{JobRef: events.JobRef{Job: "nightly"}}); !slices.Equal(got, []string{"out_of_credit false it ends by batchbus resume --queue " + queue}) {
		t.Errorf("%q", got)
	}
	_, err := r.client.ResumeBatch(t.Context(), ofBatch("nightly", "1"))
	if err == nil || !strings.Contains(err.Error(), "waits for its queue") {
		t.Errorf("%v", err)
	}
	if got := r.resume(events.ResumeJobs{JobRef: events.JobRef{Queue: queue}, Code: "refused"}); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if got := r.resume(events.ResumeJobs{JobRef: events.JobRef{Queue: queue}}); !slices.Equal(got, []string{"out_of_credit true", "out_of_credit true"}) {
		t.Errorf("%q", got)
	}
	if got := r.resume(events.ResumeJobs{JobRef: events.JobRef{Queue: queue}}); len(got) != 0 {
		t.Errorf("a second time: %q", got)
	}
	if alone, listed := r.queueHolds("nightly"); len(alone)+len(listed) != 0 {
		t.Errorf("alone %v, listed %v", alone, listed)
	}
	budget, err := r.jobs.Budget(t.Context(), "elsewhere")
	if err != nil || len(budget.Holds) != 1 {
		t.Errorf("another queue: %+v, %v", budget, err)
	}
	if got := r.resume(events.ResumeJobs{JobRef: events.JobRef{Job: "nightly"}}); len(got) != 0 {
		t.Errorf("%q", got) // the batch waits for the sweep, and for nobody
	}
}
