package submit_test

import (
	"slices"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestAHoldWhoseCauseIsGoneIsResumed(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		events.HoldRefused, events.HoldCredit, events.HoldRowsOlder, events.HoldLineRefusals, events.HoldManifestMissing, events.HoldPublish,
		events.HoldGroupsUnsupported,
	} {
		for _, state := range []events.BatchState{events.BatchPlanned, events.BatchUploaded} {
			t.Run(code+" in "+string(state), func(t *testing.T) {
				t.Parallel()
				bubble(t, simulator.Config{}, func(w *world) {
					w.plan(2)
					s := w.process(w.client, nil)
					b := w.drive(s, "1")
					w.another("2", func(other *jobs.Batch) { other.LineRefusals, other.FileID = 20, b.FileID })
					w.hold("2", state, code)
					w.drive(s, "2")
					if got := w.batch("2"); got.Hold == nil {
						t.Fatalf("it goes on by itself: %+v", got.Batch)
					}
					b = w.wish("2", events.WishResume, "")
					if reset := b.LineRefusals == 0; b.Hold != nil || b.Wish != nil || reset != (code == events.HoldLineRefusals) {
						t.Errorf("resumed %+v", b.Batch)
					}
					b = w.drive(s, "2")
					w.onlyLive(&b)
					if !slices.Contains(w.kinds("2"), events.BatchResumed) {
						t.Errorf("events %v", w.kinds("2"))
					}
				})
			})
		}
	}
}

// another plans one more batch of the job.
func (w *world) another(n string, edit func(*jobs.Batch)) {
	w.t.Helper()
	b := w.planned(n, 2)
	edit(b)
	change := jobs.NewChange(time.Now())
	change.Batch(b, events.BatchIsPlanned)
	w.check(w.jobs.Commit(w.t.Context(), change))
}

func TestWhatIsStillSoIsHeldAgain(t *testing.T) {
	t.Parallel()
	faults := []simulator.Fault{{Kind: simulator.FaultCreateRefused, Status: 403, Text: "Insufficient permissions", Count: 2}}
	bubble(t, simulator.Config{Faults: faults}, func(w *world) {
		w.plan(2)
		s := w.process(w.client, nil)
		for range 2 {
			if b := w.drive(s, "1"); b.Hold == nil || b.Hold.Code != events.HoldRefused {
				t.Fatalf("hold %+v", b.Hold)
			}
			w.wish("1", events.WishResume, "")
		}
		b := w.drive(s, "1")
		w.onlyLive(&b)
	})
}

func TestABatchThatIsResumedInCreatingIsNotPostedBeforeTheFence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   simulator.Fault
		deletes int // of input files: the fence
	}{
		"and one that was made is found":      {fault: simulator.Fault{Kind: simulator.FaultCreateReplyLost}},
		"and one that never was is made anew": {fault: simulator.Fault{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}, deletes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Faults: []simulator.Fault{c.fault}, Latency: forEver}, func(w *world) {
				w.plan(2)
				s := w.process(w.client, nil)
				_ = s.Submit(w.t.Context(), queue, job, "1")
				w.hold("1", events.BatchCreating, events.HoldLineRefusals)
				start := time.Now()
				w.wish("1", events.WishResume, "")
				b := w.drive(s, "1")
				w.onlyLive(&b)
				ledger := w.sim.Ledger()
				if len(ledger.Creates) != 1 || len(ledger.Deletes) != c.deletes || time.Since(start) < doubleword.DefaultCreateTimeout {
					t.Errorf("ledger %+v after %s", ledger, time.Since(start))
				}
			})
		})
	}
}

func TestAPersonsWordThatTheProviderHasNoBatch(t *testing.T) {
	t.Parallel()
	never := simulator.Fault{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}
	lost := simulator.Fault{Kind: simulator.FaultCreateReplyLost}
	for name, c := range map[string]struct {
		can              doubleword.Capabilities
		fault            simulator.Fault
		creates, deletes int
		attempt          int
		late             bool // what was sent shows in no list yet when the batch is held
	}{
		"is taken where nothing can be seen":          {fault: never, creates: 1, attempt: 2},
		"is taken, and the old file goes first":       {can: doubleword.Capabilities{DeleteFile: true}, fault: never, creates: 1, deletes: 1, attempt: 2},
		"is taken when a list shows nothing either":   {can: doubleword.Capabilities{ListByMetadata: true}, fault: never, creates: 1, attempt: 2},
		"is not taken when a list shows the contrary": {can: doubleword.Capabilities{ListByMetadata: true}, fault: lost, creates: 1, attempt: 1, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Faults: []simulator.Fault{c.fault}, Latency: forEver}, func(w *world) {
				w.plan(2)
				provider, _ := w.lacking(c.can)
				s := w.process(provider, nil)
				if c.late {
					_ = s.Submit(w.t.Context(), queue, job, "1")
					w.hold("1", events.BatchCreating, events.HoldCapability)
				} else if b := w.drive(s, "1"); b.Hold == nil || b.Hold.Code != events.HoldCapability {
					t.Fatalf("hold %+v", b.Hold)
				}
				start := time.Now()
				wished := w.wish("1", events.WishResume, "")
				if wished.Wish == nil || wished.Hold == nil || wished.State != events.BatchCreating {
					t.Errorf("wished %+v", wished.Batch)
				}
				b := w.drive(s, "1")
				w.onlyLive(&b)
				if waited, quiet := time.Since(start), doubleword.DefaultCreateTimeout+submit.DefaultQuietPeriod; waited < quiet {
					t.Errorf("it went on after %s, when a POST could still be under way", waited)
				}
				ledger := w.sim.Ledger()
				if len(ledger.Creates) != c.creates || len(ledger.Deletes) != c.deletes || b.Attempt != c.attempt || b.Wish != nil {
					t.Errorf("state %+v, ledger %+v", b.Batch, ledger)
				}
			})
		})
	}
}

func TestAZombiesBatchThatNobodyCouldFindIsStoppedByTheZombie(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{Latency: forEver}, func(w *world) {
		w.plan(2)
		provider, _ := w.lacking(doubleword.Capabilities{})
		wake, asleep, stopped, done := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
		sleepy := &hooked{Provider: detached{provider}, before: func(call string, _ int) error {
			if call == "create" {
				close(asleep)
				<-wake
			}
			return nil
		}}
		sleepy.after = func(call string, _ int) error {
			if call == "cancel" {
				close(stopped)
			}
			return nil
		}
		sleeper := w.process(sleepy, nil)
		go func() { defer close(done); w.drive(sleeper, "1") }()
		<-asleep
		s := w.process(provider, nil)
		w.drive(s, "1")
		w.wish("1", events.WishResume, "") // the person is right: there is none yet
		second := &hooked{Provider: provider, before: func(call string, _ int) error {
			if call == "create" { // the state is of the next attempt, and follows none yet
				close(wake)
				select {
				case <-stopped:
				case <-time.After(time.Minute): // nobody does
				}
			}
			return nil
		}}
		b := w.drive(w.process(second, nil), "1")
		<-done
		w.onlyLive(&b)
		if got := w.sim.Ledger(); len(got.Creates) != 2 || len(got.Cancels) != 1 || b.Attempt != 2 {
			t.Errorf("state %+v, ledger %+v", b.Batch, got)
		}
	})
}

func TestAHoldDoesNotEndInAWayThatWouldNotHelp(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(1)
		for code, kinds := range map[string][]events.WishKind{
			events.HoldKeyMissing: {events.WishResume, events.WishAdopt, events.WishAbandon},
			events.HoldBusOlder:   {events.WishResume},
			events.HoldCredit:     {events.WishAdopt, events.WishAbandon},
		} {
			w.hold("1", events.BatchPlanned, code)
			for _, kind := range kinds {
				if _, err := w.jobs.EndHold(w.t.Context(), queue, job, "1", events.Wish{Kind: kind}); err == nil {
					t.Errorf("%s ends by %s", code, kind)
				}
			}
			if b := w.batch("1"); b.Hold == nil || b.Wish != nil {
				t.Errorf("%s: %+v", code, b.Batch)
			}
		}
	})
}
