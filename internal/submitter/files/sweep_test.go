package files_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/submitter/files"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestOnlyAFileThatNothingRefersToIsDeleted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		name  string // of the file; that of the batch's first attempt by default
		age   time.Duration
		do    func(w *world, id string)
		stays bool
	}{
		"a file of a batch that has no state goes": {},
		"a file of a submitted batch that runs of another one goes": {
			do: func(w *world, _ string) { w.state("1", events.BatchSubmitted, "another") },
		},
		"a file of a batch that ended goes": {
			do: func(w *world, _ string) { w.state("1", events.BatchCancelled, "") },
		},
		"a file that is a second younger than the age stays": {age: age - time.Second, stays: true},
		"the file that a submitted batch names stays": {
			do: func(w *world, id string) { w.state("1", events.BatchSubmitted, id) }, stays: true,
		},
		"the file that a settled batch names stays": {
			do: func(w *world, id string) { w.state("1", events.BatchSettled, id) }, stays: true,
		},
		"the file that an uploaded batch names stays": {
			do: func(w *world, id string) { w.state("1", events.BatchUploaded, id) }, stays: true,
		},
		"a file of a planned batch stays: its change may be to come": {
			do: func(w *world, _ string) { w.state("1", events.BatchPlanned, "") }, stays: true,
		},
		"a file of a batch that is created of another one stays": {
			do: func(w *world, _ string) { w.state("1", events.BatchCreating, "another") }, stays: true,
		},
		"the old file of a fence that is not proven yet stays": {
			do: func(w *world, id string) { w.state("1", events.BatchFencing, id) }, stays: true,
		},
		"the new file of a fence stays": {
			name: fileName(busID, "1", "2"), stays: true,
			do: func(w *world, _ string) { w.state("1", events.BatchFencing, "another") },
		},
		"a file of a batch in a state of a later version stays": {
			do: func(w *world, _ string) { w.state("1", "pondering", "another") }, stays: true,
		},
		"the file of a batch at the provider that no state names stays": {
			do: func(w *world, id string) { w.post(id, path("1")) }, stays: true,
		},
		"the file of a batch at the provider that a person made of it stays": {
			do: func(w *world, id string) { w.post(id, nil) }, stays: true,
		},
		"a file of another bus stays":                          {name: fileName("BUS8", "1", "1"), stays: true},
		"a file of a bus that differs in case stays":           {name: fileName("bus7", "1", "1"), stays: true},
		"a file of a bus whose id begins like ours stays":      {name: fileName("BUS77", "1", "1"), stays: true},
		"a file that is called something else stays":           {name: "rows.jsonl", stays: true},
		"a file whose name only holds one of ours stays":       {name: "copy of " + fileName(busID, "1", "1"), stays: true},
		"a file whose name goes on after one of ours stays":    {name: fileName(busID, "1", "1") + ".old", stays: true},
		"a file whose name has one part too many stays":        {name: fileName(busID, "1.1", "1"), stays: true},
		"a file whose attempt is written otherwise stays":      {name: fileName(busID, "1", "01"), stays: true},
		"a file whose name has no number for an attempt stays": {name: fileName(busID, "1", "x"), stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{}, func(w *world) {
				if c.name == "" {
					c.name = fileName(busID, "1", "1")
				}
				if c.age == 0 {
					c.age = age
				}
				id := w.upload(c.name)
				pass(c.age)
				if c.do != nil {
					c.do(w, id)
				}
				want := 1
				if c.stays {
					want = 0
				}
				if got := w.sweep(w.client); got != want || w.deleted()[id] == c.stays {
					t.Errorf("%d deleted, want %d; ledger %v", got, want, w.deleted())
				}
				if again := w.sweep(w.client); again != 0 {
					t.Errorf("%d deleted by the second sweep", again)
				}
			})
		})
	}
}

// lazy is a provider that does something right before it lists batches, which is after the states were read.
type lazy struct {
	*doubleword.Client
	before func()
	can    doubleword.Capabilities
	fail   error
}

func (l *lazy) Capabilities() doubleword.Capabilities { return l.can }

func (l *lazy) Batches(ctx context.Context, q doubleword.BatchQuery) (doubleword.BatchPage, error) {
	if l.fail != nil {
		return doubleword.BatchPage{}, l.fail
	}
	if l.before != nil {
		l.before()
	}
	return l.Client.Batches(ctx, q)
}

func TestAFileThatAStateComesToNameWhileTheSweepGoesOnStays(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		id := w.upload(fileName(busID, "1", "1"))
		pass(age)
		late := &lazy{Client: w.client, can: doubleword.DefaultCapabilities(), before: func() { w.state("1", events.BatchUploaded, id) }}
		if got := w.sweep(late); got != 0 || len(w.deleted()) != 0 {
			t.Errorf("%d deleted", got)
		}
	})
}

func TestAnAccountThatCannotBeSearchedOrDeletedFromIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, can := range map[string]doubleword.Capabilities{"no search": {DeleteFile: true}, "no delete": {ListByMetadata: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{}, func(w *world) {
				w.upload(fileName(busID, "1", "1"))
				pass(age)
				calls := w.sim.Ledger().Calls
				if got := w.sweep(&lazy{Client: w.client, can: can}); got != 0 || len(w.deleted()) != 0 {
					t.Errorf("%d deleted", got)
				}
				if after := w.sim.Ledger().Calls; after["GET /v1/files"] != calls["GET /v1/files"] || after["GET /v1/batches"] != calls["GET /v1/batches"] {
					t.Errorf("it was asked all the same: %v", after)
				}
			})
		})
	}
}

func TestNothingIsDeletedWithoutTheWholeListOfBatches(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.upload(fileName(busID, "1", "1"))
		pass(age)
		broken := errors.New("503")
		s, err := files.New(w.config(&lazy{Client: w.client, can: doubleword.DefaultCapabilities(), fail: broken}))
		w.check(err)
		if got, err := s.Sweep(w.t.Context()); got != 0 || !errors.Is(err, broken) || len(w.deleted()) != 0 {
			t.Errorf("%d deleted, error %v", got, err)
		}
	})
}

// looping is a provider that ignores cursors.
type looping struct{ *doubleword.Client }

func (l looping) Batches(ctx context.Context, q doubleword.BatchQuery) (doubleword.BatchPage, error) {
	q.After = ""
	return l.Client.Batches(ctx, q)
}

func TestAListThatRepeatsItselfIsNotWhole(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		oldest := w.upload(fileName(busID, "1", "1"))
		w.post(oldest, path("1"))
		pass(age)
		young := w.upload(fileName(busID, "2", "1"))
		for range 101 { // push the batch that names the file off the first page
			w.post(young, path("2"))
		}
		s, err := files.New(w.config(looping{w.client}))
		w.check(err)
		if got, err := s.Sweep(w.t.Context()); got != 0 || err == nil || len(w.deleted()) != 0 {
			t.Errorf("%d deleted, error %v", got, err)
		}
		if got := w.sweep(w.client); got != 0 {
			t.Errorf("%d deleted: the second page was not read", got)
		}
	})
}

func TestALongListIsSweptWhole(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		const orphans = 720 // more than are judged at once, over several pages whose last files go too
		for i := range orphans {
			n := strconv.Itoa(i + 1)
			w.upload(fileName(busID, n, "1"))
			if i%90 == 0 {
				w.post(w.upload(fileName(busID, n, "2")), path(n))
			}
		}
		pass(age)
		for range 100 { // a first page of which nothing goes
			w.upload(fileName(busID, "1", "3"))
		}
		if got := w.sweep(w.client); got != orphans {
			t.Errorf("%d of %d deleted", got, orphans)
		}
		for _, created := range w.sim.Ledger().Creates {
			if w.deleted()[created.InputFileID] {
				t.Errorf("the file of %s was deleted", created.Metadata[submit.MetaPath])
			}
		}
	})
}

func TestRunSweepsEveryInterval(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		ctx, stop := context.WithCancel(w.t.Context())
		defer stop()
		config := w.config(w.client)
		config.Interval = 10 * time.Minute
		s, err := files.New(config)
		w.check(err)
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		pass(config.Interval)
		first := w.sim.Ledger().Calls["GET /v1/files"]
		w.upload(fileName(busID, "1", "1"))
		pass(20 * config.Interval)
		rounds := w.sim.Ledger().Calls["GET /v1/files"]
		if first < 1 || rounds < 18 || rounds > 24 || len(w.deleted()) != 1 {
			t.Errorf("%d rounds in the first interval, %d in 21, deleted %v", first, rounds, w.deleted())
		}
		stop()
		w.check(<-ended)
	})
}

func TestASweeperWithoutItsPartsIsNotMadeAndOneWithoutTimesIsPatient(t *testing.T) {
	t.Parallel()
	if _, err := files.New(files.Config{}); err == nil {
		t.Error("made out of nothing")
	}
	s, err := files.New(files.Config{Jobs: jobs.New(nil), BusID: busID, Provider: func(string) (files.Provider, bool) { return nil, false }})
	if err != nil || s.Age != 24*time.Hour || s.Interval != time.Hour || s.Name() != "files" {
		t.Errorf("%+v, error %v", s, err)
	}
}
