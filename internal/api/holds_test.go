package api_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// held puts a batch of the job into the state that is held, or not when code is empty.
func (r *rig) held(job, n, code string, edit func(*jobs.Batch)) {
	r.t.Helper()
	b := &jobs.Batch{Batch: events.Batch{Queue: queue, Job: job, N: n, State: events.BatchUploaded}}
	if code != "" {
		b.Hold = &events.Hold{Code: code, Message: "held by the test"}
	}
	if edit != nil {
		edit(b)
	}
	change := jobs.NewChange(time.Now())
	change.Batch(b)
	if err := r.jobs.Commit(r.t.Context(), change); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) state(job, n string) events.Batch {
	r.t.Helper()
	b, err := r.jobs.Batch(r.t.Context(), queue, job, n)
	if err != nil {
		r.t.Fatal(err)
	}
	return b.Batch
}

func ofBatch(job, n string) events.EndHold {
	return events.EndHold{JobRef: events.JobRef{Job: job}, N: n}
}

func TestAWishIsStoredForTheSubmitterAndAnsweredWithTheBatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.open("nightly")
	r.held("nightly", "1", events.HoldBusOlder, nil)
	q := ofBatch("nightly", "1")
	q.ProviderBatchID = "batch-7"
	for range 2 { // it may be asked again
		b, err := r.client.AdoptBatch(t.Context(), q)
		if err != nil || b.Wish == nil || b.Wish.Kind != events.WishAdopt || b.Wish.ProviderBatchID != "batch-7" || b.Hold == nil {
			t.Fatalf("%+v, %v", b, err)
		}
	}
	var b events.Batch
	answer := r.ask("batchbus.api.batches.abandon", `{"job":"nightly","n":"1"}`)
	if err := json.Unmarshal(answer.Data, &b); err != nil || b.Wish == nil || b.Wish.Kind != events.WishAbandon {
		t.Errorf("%s %v", answer.Data, err)
	}
	if got := r.state("nightly", "1"); got.Wish == nil || got.Wish.Kind != events.WishAbandon || got.Wish.ProviderBatchID != "" {
		t.Errorf("%+v", got)
	}
}

func TestAHoldIsNotEndedInAWayThatCannotBe(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.open("nightly")
	r.held("nightly", "1", events.HoldBusOlder, func(b *jobs.Batch) { b.OpaqueIDs = true })
	r.held("nightly", "2", "", nil)
	r.held("nightly", "3", events.HoldKeyMissing, nil)
	for name, c := range map[string]struct {
		subject, request, code, says string
	}{
		"an unknown job":             {"batches.adopt", `{"job":"absent","n":"1"}`, events.APIUnknownJob, "no job absent"},
		"an unknown batch":           {"batches.adopt", `{"job":"nightly","n":"9"}`, events.APIUnknownBatch, "no batch 9"},
		"no number":                  {"batches.abandon", `{"job":"nightly"}`, events.APIBadRequest, "number"},
		"no number at all":           {"batches.abandon", `{"job":"nightly","n":"1.>"}`, events.APIBadRequest, "number"},
		"a long id":                  {"batches.adopt", `{"job":"nightly","n":"1","provider_batch_id":"` + strings.Repeat("x", 201) + `"}`, events.APIBadRequest, "bytes"},
		"a resume with an id":        {"batches.resume", `{"job":"nightly","n":"1","provider_batch_id":"x"}`, events.APIBadRequest, "adopt or abandon"},
		"a batch that is not held":   {"batches.resume", `{"job":"nightly","n":"2"}`, events.APINotHeld, "not held"},
		"a hold that is no resume's": {"batches.resume", `{"job":"nightly","n":"1"}`, events.APIOtherEnd, "adopt or abandon"},
		"a hold that ends by itself": {"batches.resume", `{"job":"nightly","n":"3"}`, events.APIOtherEnd, "by itself"},
		"rows that cannot be told":   {"batches.adopt", `{"job":"nightly","n":"1"}`, events.APIOtherEnd, "abandon"},
		"a queue that is none":       {"jobs.resume", `{"queue":"a.b"}`, events.APIBadRequest, "name"},
		"an unknown job to resume":   {"jobs.resume", `{"job":"absent"}`, events.APIUnknownJob, "no job absent"},
	} {
		var refused events.APIError
		answer := r.ask("batchbus.api."+c.subject, c.request)
		if err := json.Unmarshal(answer.Data, &refused); err != nil || refused.Code != c.code || !strings.Contains(refused.Message, c.says) {
			t.Errorf("%s: %s, want %s with %q", name, answer.Data, c.code, c.says)
		}
	}
}

func TestAJobIsResumedWithItsBatches(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.open("nightly")
	j, err := r.jobs.Job(t.Context(), queue, "nightly")
	if err != nil {
		t.Fatal(err)
	}
	j.Hold = &events.Hold{Code: events.HoldRowsOlder}
	change := jobs.NewChange(time.Now())
	change.Job(&j)
	if err := r.jobs.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	r.held("nightly", "1", events.HoldCredit, nil)
	r.held("nightly", "2", "", nil)
	r.held("nightly", "3", events.HoldBusOlder, nil)
	r.held("nightly", "4", events.HoldCapability, func(b *jobs.Batch) { b.Wish = &events.Wish{Kind: events.WishAdopt, Hold: events.HoldCapability} })
	r.held("nightly", "5", events.HoldRefused, nil)
	r.held("other", "1", events.HoldCredit, nil)
	if holds := r.resume(events.ResumeJobs{JobRef: events.JobRef{Job: "nightly"}, Code: events.HoldRefused}); !slices.Equal(holds, []string{"5 refused true"}) {
		t.Errorf("%v", holds)
	}
	want := []string{
		"rows_older_than_records true", "1 out_of_credit true", "3 bus_older_than_world false it ends by adopt or abandon",
		"4 capability_missing false the submitter is about to adopt it",
	}
	if holds := r.resume(events.ResumeJobs{JobRef: events.JobRef{Job: "nightly"}}); !slices.Equal(holds, want) {
		t.Errorf("%q", holds)
	}
	if r.state("nightly", "1").Hold != nil || r.state("nightly", "3").Hold == nil || r.state("other", "1").Hold == nil {
		t.Error("the states tell otherwise")
	}
}

// resume asks, and returns what became of each hold, in order of the batches.
func (r *rig) resume(q events.ResumeJobs) (lines []string) {
	r.t.Helper()
	holds, err := r.client.ResumeJobs(r.t.Context(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	slices.SortFunc(holds, func(a, b events.ResumedHold) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), events.CompareNumbers(a.Batch, b.Batch))
	})
	for _, h := range holds {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %v %s", h.Batch, h.Code, h.Ended, h.Why)))
	}
	return lines
}

func TestAQueueWithoutCreditIsResumedWholly(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	const batches = 130 // more than one answer tells of
	for i := range batches {
		r.held("job-"+strconv.Itoa(i%7), strconv.Itoa(i+1), events.HoldCredit, nil)
	}
	r.held("job-0", "refused", events.HoldRefused, nil)
	r.held("job-0", "elsewhere", events.HoldCredit, func(b *jobs.Batch) { b.Queue = "elsewhere" })
	if got := len(r.resume(events.ResumeJobs{JobRef: events.JobRef{Queue: queue}})); got != batches {
		t.Errorf("%d holds ended, want %d", got, batches)
	}
	held := 0
	for b, err := range r.jobs.AllBatches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Hold != nil {
			held++
		}
	}
	if held != 2 {
		t.Errorf("%d are held still, want those of another code and another queue", held)
	}
	if got := r.resume(events.ResumeJobs{}); len(got) != 0 {
		t.Errorf("a second time: %v", got)
	}
}
