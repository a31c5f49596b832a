package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const queue = "default"

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	refused, ok := errors.AsType[*events.APIError](err)
	if !ok || refused.Code != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

func TestOpeningAJobAgainReturnsItAndOtherOptionsAreAConflict(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	digest := strings.Repeat("e3", 32)
	ref := events.JobRef{Job: "nightly"}
	q := events.OpenJob{JobRef: ref, Window: "1h", DefaultModel: "m", Description: "d", InputSHA256: digest}
	first, err := r.client.OpenJob(t.Context(), q)
	if err != nil || first.State != events.JobOpen || first.Queue != queue || first.Policy.Window != "1h" ||
		first.Policy.DefaultModel != "m" || first.InputSHA256 != digest || first.Description != "d" {
		t.Fatalf("%+v, %v", first, err)
	}
	for _, same := range []events.OpenJob{q, {JobRef: ref}, {JobRef: ref, Description: "another word for it"}} {
		again, err := r.client.OpenJob(t.Context(), same)
		if err != nil || !again.OpenedAt.Equal(first.OpenedAt) || again.Description != "d" {
			t.Errorf("%+v: %+v, %v", same, again, err)
		}
	}
	for _, other := range []events.OpenJob{
		{JobRef: ref, Window: "24h"}, {JobRef: ref, DefaultModel: "n"}, {JobRef: ref, InputSHA256: strings.Repeat("00", 32)},
	} {
		_, err := r.client.OpenJob(t.Context(), other)
		wantCode(t, fmt.Sprintf("%+v", other), err, events.APIConflict)
	}
}

func TestABadRequestIsRefusedWithAReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	for subject, requests := range map[string][]string{
		"batchbus.api.jobs.open": {
			"{", "[]", `{"job":"a"} {}`, `{"job":"a","windw":"1h"}`, `{"job":"a","window":"7h"}`, `{"job":"a.b"}`, `{}`, ``,
			`{"job":"a","queue":"*"}`, `{"job":"auto-20261130T021100Z-60"}`, `{"job":"a","input_sha256":"xyz"}`,
			`{"job":"a","description":"` + strings.Repeat("x", 5000) + `"}`, `{"job":"a","default_model":"` + strings.Repeat("x", 300) + `"}`,
		},
		"batchbus.api.jobs.get":  {"null}", `{"job":"a","limit":-1}`, `{"queue":"default"}`},
		"batchbus.api.jobs.list": {`{"limit":-1}`, `{"queue":"a b"}`, `{"after":"x"}`},
	} {
		for _, request := range requests {
			answer := r.ask(subject, request)
			var body struct {
				Code    string `json:"code"`
				Message string `json:"message"`
			}
			if err := json.Unmarshal(answer.Data, &body); err != nil {
				t.Fatalf("%s %.60s: %v", subject, request, err)
			}
			header := answer.Header
			if body.Code != "bad_request" || header.Get("Nats-Service-Error-Code") != "bad_request" || body.Message == "" ||
				header.Get("Nats-Service-Error") != body.Message {
				t.Errorf("%s %.60s: %v %s", subject, request, header, answer.Data)
			}
		}
	}
	if answer := r.ask("batchbus.api.jobs.list", ""); string(answer.Data) != `{"jobs":[]}` {
		t.Errorf("a refused request left something behind: %s", answer.Data)
	}
}

func TestAJobThatIsNotThereIsUnknownToEveryEndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	ref := events.JobRef{Job: "absent"}
	_, getErr := r.client.Job(t.Context(), ref)
	_, sealErr := r.client.SealJob(t.Context(), events.SealJob{JobRef: ref})
	_, cancelErr := r.client.CancelJob(t.Context(), ref)
	_, forgetErr := r.client.ForgetJob(t.Context(), events.JobRef{Job: "no token: a/b"})
	for what, err := range map[string]error{"get": getErr, "seal": sealErr, "cancel": cancelErr, "forget": forgetErr} {
		wantCode(t, what, err, events.APIUnknownJob)
	}
}

func TestSealAndCancelAreMessagesOnTheJobsSubject(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.open("nightly")
	ref := events.JobRef{Job: "nightly"}
	for range 2 { // the second is harmless
		if _, err := r.client.SealJob(t.Context(), events.SealJob{JobRef: ref, ExpectedRows: new(7)}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.client.CancelJob(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.client.SealJob(t.Context(), events.SealJob{JobRef: ref, ExpectedRows: new(-1)})
	wantCode(t, "a negative count", err, events.APIBadRequest)
	last, err := r.Store.Last(t.Context(), jetstore.StreamRequests, events.RequestSubject(queue, "nightly"))
	if err != nil || last.Sequence != 2 || last.Header.Get(events.HeaderCancel) != "true" {
		t.Errorf("the second of two messages is %d %v, %v", last.Sequence, last.Header, err)
	}
	first, err := r.Store.First(t.Context(), jetstore.StreamRequests, events.RequestSubject(queue, "nightly"))
	if err != nil || first.Header.Get(events.HeaderSeal) != "true" || first.Header.Get(events.HeaderExpectedRows) != "7" {
		t.Errorf("%v, %v", first.Header, err)
	}
	if j, err := r.jobs.Job(t.Context(), queue, "nightly"); err != nil || j.SealedAt != nil || j.CancelWanted != nil {
		t.Errorf("the job was changed behind the back of its rows: %+v, %v", j, err)
	}
}

func TestACompletedJobGetsNoMoreMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.open("done")
	j, err := r.jobs.Job(t.Context(), queue, "done")
	if err != nil {
		t.Fatal(err)
	}
	change := jobs.NewChange(time.Now())
	at := change.At()
	j.State, j.SealedAt, j.Totals = events.JobCompleted, &at, &events.Totals{Rows: 4, Failed: 4}
	change.Job(&j)
	if err := r.jobs.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	ref := events.JobRef{Job: "done"}
	sealed, err := r.client.SealJob(t.Context(), events.SealJob{JobRef: ref})
	if err != nil || sealed.State != events.JobCompleted || sealed.Totals.Failed != 4 {
		t.Errorf("%+v, %v", sealed, err)
	}
	if _, err := r.client.CancelJob(t.Context(), ref); err != nil {
		t.Error(err)
	}
	if m, err := r.Store.Last(t.Context(), jetstore.StreamRequests, ">"); !errors.Is(err, jetstore.ErrNotFound) {
		t.Errorf("%s was published: %v", m.Subject, err)
	}
}

func TestAJobIsFoundByTheProvidersIDAndComesWithAllItsBatches(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.open("other")
	r.open("nightly")
	var want []string
	for i := range 40 { // 40 KiB each: three pages below half of max_payload
		n := strconv.Itoa(i + 1)
		r.batch("nightly", n, "remote-"+n, 40<<10)
		want = append(want, n)
	}
	r.batch("nightly", "2-1", "", 0)
	want = slices.Insert(want, 2, "2-1")
	status, err := r.client.Job(t.Context(), events.JobRef{Queue: "elsewhere", Job: "remote-17"})
	if err != nil || status.Job != "nightly" || status.Totals == nil || status.More {
		t.Fatalf("%.200v, %v", status, err)
	}
	var got []string
	for _, b := range status.Batches {
		got = append(got, b.N)
	}
	if !slices.Equal(got, want) {
		t.Errorf("batches %v, want %v", got, want)
	}
	if b := status.Batches[1]; b.State != events.BatchSubmitted || b.Counts.Completed != 2 || len(b.Why) != 40<<10 {
		t.Errorf("batch 2: %.200v", b)
	}
	var page events.JobStatus
	if err := json.Unmarshal(r.ask("batchbus.api.jobs.get", `{"job":"nightly","after":"2","limit":2}`).Data, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Batches) != 2 || page.Batches[0].N != "2-1" || page.Batches[1].N != "3" || !page.More {
		t.Errorf("%d batches, more %t", len(page.Batches), page.More)
	}
}

func TestALongListComesInPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	const count = 300 // with 4 KiB of description: three pages below half of max_payload
	for i := range count {
		q := events.OpenJob{JobRef: events.JobRef{Job: fmt.Sprintf("job-%03d", i)}, Description: strings.Repeat("d", 4<<10)}
		if i%3 == 0 {
			q.Queue = "default"
		} else {
			q.Queue = "other"
		}
		if _, err := r.client.OpenJob(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int{"": count, "other": 200, "none": 0} {
		seen := map[string]bool{}
		for j, err := range r.client.Jobs(t.Context(), name) {
			if err != nil {
				t.Fatal(err)
			}
			seen[j.Queue+"/"+j.Job] = true
		}
		if len(seen) != want {
			t.Errorf("queue %q: %d jobs, want %d", name, len(seen), want)
		}
	}
	var page events.JobList
	if err := json.Unmarshal(r.ask("batchbus.api.jobs.list", `{"limit":3}`).Data, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Jobs) != 3 || page.Next == 0 || page.Jobs[0].Job != "job-000" {
		t.Errorf("%d jobs, next %d", len(page.Jobs), page.Next)
	}
}

func TestTheAPIIsOneMicroServiceWithTwoReplicas(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	stop := r.replica()
	if got := r.infos(2); len(got) != 2 || got[0].Name != "batchbus" || len(got[0].Endpoints) != 19 {
		t.Errorf("%+v", got)
	}
	r.open("nightly")
	stop()
	if _, err := r.client.Job(t.Context(), events.JobRef{Job: "nightly"}); err != nil {
		t.Errorf("after the stop of one replica: %v", err)
	}
}

type info struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Endpoints []struct {
		Subject string `json:"subject"`
	} `json:"endpoints"`
}

// infos asks all micro services who they are, again and again until n have answered: a replica that is starting does not hear it yet.
func (r *rig) infos(n int) (all []info) {
	r.t.Helper()
	answers, err := r.Conn.SubscribeSync(r.Conn.NewInbox())
	if err != nil {
		r.t.Fatal(err)
	}
	known := make(map[string]bool)
	for end := time.Now().Add(30 * time.Second); len(all) < n && time.Now().Before(end); {
		if err := r.Conn.PublishRequest("$SRV.INFO", answers.Subject, nil); err != nil {
			r.t.Fatal(err)
		}
		for m, err := answers.NextMsg(100 * time.Millisecond); err == nil; m, err = answers.NextMsg(100 * time.Millisecond) {
			var i info
			if err := json.Unmarshal(m.Data, &i); err != nil {
				r.t.Fatal(err)
			}
			if !known[i.ID] {
				known[i.ID] = true
				all = append(all, i)
			}
		}
	}
	return all
}

func TestABusWithoutBatchbusSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	if _, err := r.client.Job(t.Context(), events.JobRef{Job: "x"}); !errors.Is(err, client.ErrNoAPI) {
		t.Error(err)
	}
}

func TestAForgottenJobMustBeCompleted(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.open("nightly")
	_, err := r.client.ForgetJob(t.Context(), events.JobRef{Job: "nightly"})
	wantCode(t, "forget", err, events.APINotSettled)
}
