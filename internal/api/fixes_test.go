package api_test

import (
	"errors"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestAJobNamesTheOneWhoseRefusedRowsItTakesUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	open := func(fixes *events.JobRef) (events.JobStatus, error) {
		return r.client.OpenJob(t.Context(), events.OpenJob{JobRef: events.JobRef{Job: "nightly-fix1"}, Fixes: fixes})
	}
	want := events.JobRef{Queue: "default", Job: "nightly"}
	opened, err := open(&events.JobRef{Job: "nightly"})
	if err != nil || opened.Fixes == nil || *opened.Fixes != want {
		t.Fatalf("%+v, %v", opened.Fixes, err)
	}
	status, err := r.client.Job(t.Context(), events.JobRef{Job: "nightly-fix1"})
	if err != nil || status.Fixes == nil || *status.Fixes != want {
		t.Errorf("status: %+v, %v", status.Fixes, err)
	}
	for _, same := range []*events.JobRef{nil, &want, {Job: "nightly"}} {
		if _, err := open(same); err != nil {
			t.Errorf("opened again with %+v: %v", same, err)
		}
	}
	for code, fixes := range map[string]events.JobRef{
		events.APIConflict: {Queue: "fast", Job: "nightly"}, events.APIBadRequest: {Job: "a.b"},
	} {
		_, err := open(&fixes)
		if refused, ok := errors.AsType[*events.APIError](err); !ok || refused.Code != code {
			t.Errorf("opened with %+v: %v, want %s", fixes, err, code)
		}
	}
	if _, err := r.client.OpenJob(t.Context(), events.OpenJob{
		JobRef: events.JobRef{Job: "rolling-fix1"}, Fixes: &events.JobRef{Job: "auto-20261130T021100Z-60"},
	}); err != nil {
		t.Errorf("a rolling job's refused rows: %v", err)
	}
}
