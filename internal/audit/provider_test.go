package audit_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/batchbus/batchbus/internal/audit"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// list is a provider's list, and how its reading ends.
type list struct {
	batches []doubleword.Batch
	err     error
}

func (l list) AllBatches(context.Context, doubleword.BatchQuery) iter.Seq2[doubleword.Batch, error] {
	return func(yield func(doubleword.Batch, error) bool) {
		for _, b := range l.batches {
			if !yield(b, nil) {
				return
			}
		}
		if l.err != nil {
			yield(doubleword.Batch{}, l.err)
		}
	}
}

func TestTheProvidersListIsCompared(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	newWorld().store(t, f)
	busID, err := f.Store.BusID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	remote := func(id, n, status string, completed int) doubleword.Batch {
		return doubleword.Batch{
			ID: id, Status: status, Counts: doubleword.Counts{Total: 3, Completed: completed},
			Metadata: map[string]string{"batchbus": busID + "/" + queue + "/" + job + "/" + n + "/", "batchbus_digest": "digest " + n},
		}
	}
	other := remote("other", "1", "completed", 3)
	other.Metadata["batchbus_digest"] = "another"
	foreign := remote("foreign", "1", "completed", 3)
	foreign.Metadata["batchbus"] = "another-bus/" + queue + "/" + job + "/1/"
	first, second := remote("remote-1", "1", "completed", 2), remote("remote-1-1", "1-1", "completed", 1)
	for name, c := range map[string]struct {
		listed []doubleword.Batch
		code   string
	}{
		"one remote batch each is proven":         {[]doubleword.Batch{first, second, foreign}, ""},
		"a cancelled one without rows is no harm": {[]doubleword.Batch{first, second, remote("twin", "1", "cancelled", 0)}, ""},
		"two that ran are paid twice":             {[]doubleword.Batch{first, second, remote("twin", "1", "cancelled", 1)}, audit.PaidTwice},
		"a live twin is found":                    {[]doubleword.Batch{first, second, remote("twin", "1", "in_progress", 0)}, audit.PaidTwice},
		"one that no state names is an orphan":    {[]doubleword.Batch{first, second, remote("orphan", "7", "completed", 3)}, audit.OrphanBatch},
		"one that is not listed is missing":       {[]doubleword.Batch{first}, audit.RemoteMissing},
		"other rows under the path are found":     {[]doubleword.Batch{first, second, other}, audit.OtherDigest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := audit.Job(t.Context(), audit.Config{Bus: f.Store, Jobs: jobs.New(f.Store), Provider: list{batches: c.listed}}, queue, job)
			if err != nil {
				t.Fatal(err)
			}
			codes := map[string]bool{}
			for _, p := range r.Problems {
				codes[p.Code] = true
			}
			if c.code == "" && (r.Verdict != audit.Proven || r.Remote.Batches < 2 || r.Remote.Counts.Completed != 3) || c.code != "" && !codes[c.code] {
				t.Errorf("want %q: %+v %+v", c.code, r.Problems, r.Remote)
			}
		})
	}
}

func TestWhatAPersonAdoptedOrAbandonedIsKnown(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	w := newWorld()
	w.batches[0].ForeignDigest, w.batches[0].Abandoned = "of other rows", []string{"given-up", "gone"}
	w.store(t, f)
	busID, err := f.Store.BusID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	remote := func(id, n, status, digest string) doubleword.Batch {
		return doubleword.Batch{
			ID: id, Status: status, Counts: doubleword.Counts{Total: 3, Completed: 1},
			Metadata: map[string]string{"batchbus": busID + "/" + queue + "/" + job + "/" + n + "/", "batchbus_digest": digest},
		}
	}
	first, second := remote("remote-1", "1", "completed", "of other rows"), remote("remote-1-1", "1-1", "completed", "digest 1-1")
	for name, c := range map[string]struct {
		givenUp doubleword.Batch
		code    string
	}{
		"one that has stopped is no harm":       {remote("given-up", "1", "cancelled", "of yet others"), ""},
		"one that runs is paid twice":           {remote("given-up", "1", "in_progress", "of yet others"), audit.PaidTwice},
		"one that nobody gave up is a stranger": {remote("stranger", "1", "cancelled", "of yet others"), audit.OtherDigest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listed := list{batches: []doubleword.Batch{first, second, c.givenUp}}
			r, err := audit.Job(t.Context(), audit.Config{Bus: f.Store, Jobs: jobs.New(f.Store), Provider: listed}, queue, job)
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(r.Problems, func(p audit.Problem) bool { return p.Code == c.code })
			if c.code == "" && (r.Verdict != audit.Proven || r.Remote.Abandoned != 1) || c.code != "" && !found {
				t.Errorf("want %q: %+v %+v", c.code, r.Problems, r.Remote)
			}
		})
	}
}

func TestAProviderThatCannotBeListedIsNoVerdict(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	newWorld().store(t, f)
	down := errors.New("down")
	if _, err := audit.Job(t.Context(), audit.Config{Bus: f.Store, Jobs: jobs.New(f.Store), Provider: list{err: down}}, queue, job); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
}
