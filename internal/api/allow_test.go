package api_test

import (
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestAJobIsAllowedToUseMoreAndItsBatchesWaitForTheSubmitter(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.open("nightly")
	short := &events.Shortage{Limit: "day_money", Unit: "USD", Allowed: "10", Spent: "8", Reserved: "0", Needed: "3"}
	for _, n := range []string{"1", "2"} {
		r.held("nightly", n, events.HoldBudget, func(b *jobs.Batch) { b.Shortage = short })
	}
	r.held("nightly", "3", events.HoldCredit, nil)
	ref := events.JobRef{Job: "nightly"}

	plain, err := r.client.ResumeJobs(t.Context(), events.ResumeJobs{JobRef: ref, Code: events.HoldBudget})
	if err != nil || len(plain) != 2 || plain[0].Ended || !strings.Contains(plain[0].Why, "--budget") {
		t.Errorf("%+v, %v", plain, err)
	}
	allow := events.Allowance{Money: 12 * events.MoneyUnit}
	for range 2 { // it may be asked again
		holds, err := r.client.ResumeJobs(t.Context(), events.ResumeJobs{JobRef: ref, Code: events.HoldBudget, Allow: &allow})
		if err != nil || len(holds) != 2 || !holds[0].Ended || !holds[1].Ended {
			t.Fatalf("%+v, %v", holds, err)
		}
	}
	j, err := r.client.Job(t.Context(), ref)
	if err != nil || j.Allowed == nil || *j.Allowed != allow || r.state("nightly", "1").Hold == nil || r.state("nightly", "3").Hold == nil {
		t.Errorf("%+v, %v", j, err)
	}
	if _, err := r.client.ResumeJobs(t.Context(), events.ResumeJobs{JobRef: ref, Allow: &events.Allowance{}}); err != nil {
		t.Error(err)
	}
	if j, err := r.client.Job(t.Context(), ref); err != nil || j.Allowed != nil {
		t.Errorf("taken back: %+v, %v", j.Allowed, err)
	}
	for _, q := range []events.ResumeJobs{
		{JobRef: events.JobRef{Queue: queue}, Allow: &allow}, {JobRef: ref, Allow: &events.Allowance{Tokens: -1}},
	} {
		if _, err := r.client.ResumeJobs(t.Context(), q); err == nil || !strings.Contains(err.Error(), "allow") {
			t.Errorf("%+v: %v", q, err)
		}
	}
}
