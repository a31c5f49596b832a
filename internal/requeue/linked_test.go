package requeue_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/internal/requeue"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
	"github.com/batchbus/batchbus/pkg/rows"
)

// open opens a job that takes up rows of another.
func open(t *testing.T, store *jobs.Store, name, digest string, sealed bool) {
	t.Helper()
	j, err := store.Open(t.Context(), queue, name, jobs.Options{
		Policy: events.DefaultPolicy(), InputSHA256: digest, Fixes: &events.JobRef{Queue: queue, Job: job},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !sealed {
		return
	}
	change := jobs.NewChange(time.Now())
	j.SealedAt = &j.OpenedAt
	change.Job(&j)
	if err := store.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

func TestTheSameRequeueFindsItsOwnJobAgain(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	store := jobs.New(f.Store)
	open(t, store, "nightly-fix1", "d1", true)
	open(t, store, "open", "d2", false)
	if _, err := store.Open(t.Context(), queue, "nightly-fix2", jobs.Options{Policy: events.DefaultPolicy()}); err != nil {
		t.Fatal(err)
	}
	linked, err := requeue.FindLinked(t.Context(), store, requeue.Fixes(), queue, job)
	if err != nil || len(linked.Jobs) != 2 {
		t.Fatalf("%d linked jobs, %v", len(linked.Jobs), err)
	}
	for name, c := range map[string]struct{ wanted, digest, want string }{
		"new rows go to the first free name":                {"", "d3", "nightly-fix3"},
		"the same rows go to the job that was made of them": {"", "d1", "nightly-fix1 begun"},
		"also by its name":                                  {"nightly-fix1", "d1", "nightly-fix1 begun"},
		"a name that is free":                               {"mine", "d1", "mine"},
		"a linked job that was left open":                   {"open", "d3", "open begun joined"},
		"a linked job that is sealed":                       {"nightly-fix1", "d3", "taken"},
		"a job that is linked to none":                      {"nightly-fix2", "d3", "taken"},
	} {
		target, err := linked.Choose(t.Context(), store, queue, "nightly", c.wanted, c.digest)
		got := target.Job
		switch {
		case errors.Is(err, requeue.ErrTaken):
			got = "taken"
		case err != nil:
			t.Fatal(err)
		case target.Joined:
			got += " begun joined"
		case target.Begun != nil:
			got += " begun"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestALinkedJobHoldsItsRowsAndWhereTheyArePurgedItsResults(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	store := jobs.New(f.Store)
	open(t, store, "fix", "d1", true)
	var b block.Builder
	b.Add(&block.Entry{ID: rows.HashID("in rows"), CustomID: "in rows", Tail: []byte("}")})
	odd := events.Result{CustomID: "a b", Queue: queue, Job: "fix", Outcome: events.Succeeded}
	plain := events.Result{CustomID: "ab", Queue: queue, Job: "fix", Outcome: events.Failed}
	for _, m := range []*nats.Msg{
		{Subject: events.RowsSubject(queue, "fix"), Data: b.Bytes()},
		{Subject: events.RowsSubject(queue, "fix"), Data: block.Seal(nil, 1)},
		messages.Result(&odd, block.Hash{}), messages.Result(&plain, block.Hash{}),
	} {
		if _, err := f.Store.Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	linked, err := requeue.FindLinked(t.Context(), store, requeue.Fixes(), queue, job)
	if err == nil {
		err = linked.Read(t.Context(), f.Store, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"in rows": true, "a b": true, "ab": true, "c": false} {
		if index, held := linked.Held(rows.HashID(id)); held != want || index != 0 {
			t.Errorf("%s: %d, %v", id, index, held)
		}
	}
}
