package keep_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/keep"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

const (
	queue     = "default"
	objectAge = time.Hour     // in place of a day: the server has something to do in each second, of fake time too
	keepRows  = 3 * time.Hour // in place of a week
)

type rig struct {
	t *testing.T
	*jetstoretest.Fixture
	jobs *jobs.Store
}

func (r *rig) publish(subject string, header nats.Header) uint64 {
	r.t.Helper()
	sequence, err := r.Store.Publish(r.t.Context(), &nats.Msg{Subject: subject, Header: header, Data: []byte("x")})
	if err != nil {
		r.t.Fatal(err)
	}
	return sequence
}

// object stores an object for a message on the subject, and the message too when it is to be named.
func (r *rig) object(stream, subject string, named bool) string {
	r.t.Helper()
	o, err := r.Store.PutObject(r.t.Context(), stream, subject, strings.NewReader("content"))
	if err != nil {
		r.t.Fatal(err)
	}
	if named {
		header := nats.Header{}
		o.SetHeader(header)
		r.publish(subject, header)
	}
	return o.Name
}

// job puts a job into the state, walked up to its newest block.
func (r *rig) job(name string, state events.JobState) {
	r.t.Helper()
	policy := events.DefaultPolicy()
	policy.KeepRowsSeconds = int(keepRows.Seconds())
	j, err := r.jobs.Open(r.t.Context(), queue, name, jobs.Options{Policy: policy})
	if err != nil {
		r.t.Fatal(err)
	}
	last, err := r.Store.Last(r.t.Context(), jetstore.StreamRows, events.RowsSubject(queue, name))
	if err != nil {
		r.t.Fatal(err)
	}
	change := jobs.NewChange(time.Now())
	j.State, j.SinceAt, j.Walked = state, change.At(), events.Place{Sequence: last.Sequence, At: last.At}
	change.Job(&j)
	r.commit(change)
}

func (r *rig) commit(change *jobs.Change) {
	r.t.Helper()
	if err := r.jobs.Commit(r.t.Context(), change); err != nil {
		r.t.Fatal(err)
	}
}

// batch puts a batch into the state that names the manifest.
func (r *rig) batch(job, n, manifest string) {
	r.t.Helper()
	change := jobs.NewChange(time.Now())
	change.Batch(&jobs.Batch{Batch: events.Batch{
		Queue: queue, Job: job, N: n, State: events.BatchSettled, ProviderBatchID: "remote-" + n, FileID: "in-" + n, OutputFileID: "out-" + n,
		Manifest: events.ObjectRef{Name: manifest}, Abandoned: []string{"remote-" + n, "given-up-" + n},
	}})
	r.commit(change)
}

func (r *rig) count(stream, filter string) (n int) {
	r.t.Helper()
	for _, err := range r.Store.Read(r.t.Context(), stream, filter, 1) {
		if err != nil {
			r.t.Fatal(err)
		}
		n++
	}
	return n
}

func (r *rig) objects() (names []string) {
	r.t.Helper()
	for o, err := range r.Store.Objects(r.t.Context()) {
		if err != nil {
			r.t.Fatal(err)
		}
		names = append(names, o.Name)
	}
	return names
}

func (r *rig) sweep(k *keep.Keeper) {
	r.t.Helper()
	if err := k.Sweep(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func newKeeper(t *testing.T, f *jetstoretest.Fixture) *keep.Keeper {
	t.Helper()
	k, err := keep.New(keep.Config{Bus: f.Store, Jobs: jobs.New(f.Store), ObjectAge: objectAge})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestRowsAndObjectsAreKeptForTheirTimeAndNoLonger(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		r := &rig{t, f, jobs.New(f.Store)}
		k := newKeeper(t, f)
		for _, name := range []string{"done", "late", "planned"} {
			r.publish(events.RowsSubject(queue, name), nil)
			r.publish(events.RowsSubject(queue, name), nil)
		}
		r.job("done", events.JobCompleted)
		r.job("late", events.JobCompleted)
		r.job("planned", events.JobPlanned)
		r.publish(events.RowsSubject(queue, "late"), nil) // behind walked

		manifest := r.object(jetstore.StreamJobs, jetstore.KeySubject(events.BatchKey(queue, "done", "1")), false)
		loser := r.object(jetstore.StreamJobs, jetstore.KeySubject(events.BatchKey(queue, "done", "1")), false)
		orphan := r.object(jetstore.StreamJobs, jetstore.KeySubject(events.BatchKey(queue, "done", "2")), false)
		r.batch("done", "1", manifest)
		answer := r.object(jetstore.StreamResults, events.ResultSubject(queue, "done", "a"), true)
		twice := r.object(jetstore.StreamResults, events.ResultSubject(queue, "done", "a"), false)
		request := r.object(jetstore.StreamRequests, events.RequestSubject(queue, "waiting"), true)
		r.publish(events.RequestSubject(queue, "waiting"), nil)
		taken := r.object(jetstore.StreamRequests, events.RequestSubject(queue, "taken"), false)
		block := r.object(jetstore.StreamRows, events.RowsSubject(queue, "planned"), true)
		person := r.object("my own", "file", false)

		wait(t, objectAge-time.Minute)
		r.sweep(k)
		if got := r.objects(); len(got) != 9 {
			t.Errorf("before its time is over %d of 9 objects are there: %v", len(got), got)
		}
		wait(t, 2*time.Minute)
		r.sweep(k)
		r.sweep(k) // what named an object is remembered
		want := []string{manifest, answer, request, block, person}
		if got := r.objects(); !slices.Equal(got, want) {
			t.Errorf("after its time there are %v\nwant %v\nnot the loser %s, the orphan %s, the second %s, the taken %s", got, want, loser, orphan, twice, taken)
		}
		if got := r.count(jetstore.StreamRows, "batchbus.rows.>"); got != 8 {
			t.Errorf("after the objects' time %d of 8 blocks are there", got)
		}

		wait(t, keepRows)
		r.sweep(k)
		for name, want := range map[string]int{"done": 0, "late": 1, "planned": 3} {
			if got := r.count(jetstore.StreamRows, events.RowsSubject(queue, name)); got != want {
				t.Errorf("after their time job %s has %d blocks, want %d", name, got, want)
			}
		}
		if got := r.count(jetstore.StreamResults, events.ResultsFilter(queue, "done")); got != 1 {
			t.Errorf("%d results", got)
		}
		if j, err := r.jobs.Job(t.Context(), queue, "done"); err != nil || j.State != events.JobCompleted {
			t.Errorf("the state is gone: %+v, %v", j, err)
		}
		if err := f.Store.Purge(t.Context(), jetstore.StreamResults, ">", 0); err != nil { // as the stream does after its age
			t.Fatal(err)
		}
		r.sweep(k)
		if got := r.objects(); slices.Contains(got, answer) {
			t.Errorf("the object of a result that has expired is still there: %v", got)
		}
	})
}

// wait lets fake time pass.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(context.Cause(t.Context()))
	}
}

func TestRowsOfARestoredBusAreNotPurged(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	r := &rig{t, f, jobs.New(f.Store)}
	r.publish(events.RowsSubject(queue, "restored"), nil)
	r.job("restored", events.JobCompleted)
	j, err := r.jobs.Job(t.Context(), queue, "restored")
	if err != nil {
		t.Fatal(err)
	}
	change := jobs.NewChange(time.Now())
	j.Policy.KeepRowsSeconds, j.Walked.At = 0, j.Walked.At.Add(-time.Second) // the state means another block of this sequence
	change.Job(&j)
	r.commit(change)
	r.sweep(newKeeper(t, f))
	if got := r.count(jetstore.StreamRows, "batchbus.rows.>"); got != 1 {
		t.Errorf("%d blocks", got)
	}
	if _, err := keep.Forget(t.Context(), f.Store, r.jobs, queue, "restored"); !errors.Is(err, keep.ErrNotSettled) {
		t.Errorf("it is forgotten: %v", err)
	}
}

func TestAForgottenJobLeavesItsStateAndNothingElse(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	r := &rig{t, f, jobs.New(f.Store)}
	for _, name := range []string{"secret", "secret2"} { // the other one is a neighbour with a similar name
		r.publish(events.RowsSubject(queue, name), nil)
		r.object(jetstore.StreamRows, events.RowsSubject(queue, name), true)
		r.publish(events.ResultSubject(queue, name, "a"), nil)
		r.object(jetstore.StreamResults, events.ResultSubject(queue, name, "b"), true)
		r.publish(events.DeadletterSubject(queue, name, strings.Repeat("0", 32)), nil)
		r.object(jetstore.StreamDeadletters, events.DeadletterSubject(queue, name, strings.Repeat("1", 32)), true)
		r.object(jetstore.StreamRequests, events.RequestSubject(queue, name), false)
		r.job(name, events.JobPlanned)
		r.batch(name, "10", r.object(jetstore.StreamJobs, jetstore.KeySubject(events.BatchKey(queue, name, "10")), false))
		r.batch(name, "2", "")
	}
	if _, err := keep.Forget(t.Context(), f.Store, r.jobs, queue, "secret"); !errors.Is(err, keep.ErrNotSettled) {
		t.Fatalf("an open job is forgotten: %v", err)
	}
	if _, err := keep.Forget(t.Context(), f.Store, r.jobs, queue, "absent"); !errors.Is(err, jetstore.ErrNotFound) {
		t.Fatalf("an absent job is forgotten: %v", err)
	}
	j, err := r.jobs.Job(t.Context(), queue, "secret")
	if err != nil {
		t.Fatal(err)
	}
	change := jobs.NewChange(time.Now())
	j.State = events.JobCompleted
	change.Job(&j)
	r.commit(change)

	forgotten, err := keep.Forget(t.Context(), f.Store, r.jobs, queue, "secret")
	if err != nil || forgotten.Objects != 5 || len(forgotten.Remains) != 4 || forgotten.Remains[1].ProviderBatchID != "given-up-2" || forgotten.Remains[0] != (events.RemoteBatch{
		N: "2", ProviderBatchID: "remote-2", InputFileID: "in-2", OutputFileID: "out-2",
	}) {
		t.Errorf("%+v, %v", forgotten, err)
	}
	for filter, stream := range map[string]string{
		"batchbus.rows.default.secret": jetstore.StreamRows, "batchbus.results.default.secret.>": jetstore.StreamResults,
		"batchbus.deadletters.default.secret.>": jetstore.StreamDeadletters,
	} {
		if got := r.count(stream, filter); got != 0 {
			t.Errorf("%s has %d messages", filter, got)
		}
		if got := r.count(stream, strings.Replace(filter, "secret", "secret2", 1)); got != 2 {
			t.Errorf("the neighbour of %s has %d messages", filter, got)
		}
	}
	if left := r.objects(); len(left) != 5 || strings.Contains(strings.Join(left, " "), "secret.") || strings.Contains(strings.Join(left, " "), "secret/") {
		t.Errorf("objects %v", left)
	}
	again, err := keep.Forget(t.Context(), f.Store, r.jobs, queue, "secret")
	if err != nil || again.Objects != 0 || len(again.Remains) != 4 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if j, err = r.jobs.Job(t.Context(), queue, "secret"); err != nil || j.ForgottenAt == nil {
		t.Errorf("the state does not say so: %+v, %v", j, err)
	}
}
