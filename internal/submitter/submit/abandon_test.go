package submit_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// onlyFollowUp fails the test unless batch 1 is abandoned, its remote batches have stopped, and its rows are live once, in its follow-up.
func (w *world) onlyFollowUp(s *submit.Submitter, rows int) {
	w.t.Helper()
	b := w.batch("1")
	if b.State != events.BatchSettled || b.Why != "abandoned" || !slices.Equal(b.FollowUps, []string{"1-1"}) || b.Hold != nil || b.Wish != nil {
		w.t.Fatalf("state %+v", b.Batch)
	}
	if live := w.live("1"); len(live) != 0 {
		w.t.Errorf("live of what was abandoned: %v", live)
	}
	followUp := w.drive(s, "1-1")
	w.onlyLive(&followUp)
	if followUp.Rows != rows || followUp.Parent != "1" {
		w.t.Errorf("follow-up %+v", followUp.Batch)
	}
}

func TestAbandonStopsWhatIsAliveBeforeTheRowsGoOnUnderAnotherNumber(t *testing.T) {
	t.Parallel()
	const cancel = "POST /v1/batches/{id}/cancel"
	faults := []simulator.Fault{{Kind: simulator.FaultStatus, Route: cancel, Status: 503, Count: 2}}
	bubble(t, simulator.Config{Latency: forEver, Faults: faults}, func(w *world) {
		s := w.process(w.client, nil)
		remote := w.older(3, s)
		w.wish("1", events.WishAbandon, "")
		b := w.drive(s, "1")
		w.onlyFollowUp(s, 3)
		ledger := w.sim.Ledger()
		if len(ledger.Cancels) != 1 || ledger.Calls[cancel] != 3 || !ledger.Cancels[0].At.Before(b.SinceAt) || !slices.Equal(b.Abandoned, []string{remote.ID}) {
			t.Errorf("state %+v, cancels %+v", b.Batch, ledger.Cancels)
		}
		if got := w.sim.Ledger().Creates; len(got) != 2 || !slices.Equal(w.attempts("1-1"), []int{1, 1, 1}) || !slices.Contains(w.kinds("1"), events.BatchAbandoning) {
			t.Errorf("creates %+v, events %v", got, w.kinds("1"))
		}
	})
}

// TestAZombiesPOSTAfterAnAbandonIsNoSecondBatch: a process sleeps over its POST while a person abandons the batch and its rows go on.
func TestAZombiesPOSTAfterAnAbandonIsNoSecondBatch(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{Latency: forEver}, func(w *world) {
		w.plan(2)
		wake, _, done := w.zombie("1")
		s := w.process(w.client, nil)
		w.edit("1", func(b *jobs.Batch) { b.Hold = &events.Hold{Code: events.HoldCapability} })
		w.wish("1", events.WishAbandon, "")
		w.drive(s, "1")
		w.onlyFollowUp(s, 2)
		close(wake)
		<-done
		w.onlyFollowUp(s, 2)
		if got := w.sim.Ledger(); len(got.Creates) != 1 || got.RowsRun != 0 {
			t.Errorf("ledger %+v", got)
		}
	})
}

func TestAPOSTThatLandsAfterTheLastListOfAnAbandonMakesNoBatch(t *testing.T) {
	t.Parallel()
	never := []simulator.Fault{{Kind: simulator.FaultStatus, Route: "POST /v1/batches", Status: 500}}
	bubble(t, simulator.Config{Latency: forEver, Faults: never}, func(w *world) {
		w.plan(2)
		s := w.process(w.client, nil)
		_ = s.Submit(w.t.Context(), queue, job, "1")
		w.hold("1", events.BatchCreating, events.HoldCapability)
		sent := w.batch("1")
		listed := false
		late := &hooked{Provider: w.client, before: func(call string, _ int) error {
			if call == "delete" && listed {
				return errLost // what is deleted after the list comes too late: this process may die before
			}
			return nil
		}}
		late.after = func(call string, _ int) error {
			if call == "list" { // of a process that has died since, so that nobody stops what it makes
				listed = true
				_, _ = w.client.CreateBatch(w.t.Context(), doubleword.NewBatch{
					InputFileID: sent.FileID, Endpoint: sent.URL, CompletionWindow: sent.Window,
					Metadata: map[string]string{submit.MetaPath: submit.Path(busID, &sent.Batch), submit.MetaDigest: sent.Digest, submit.MetaAttempt: "1"},
				})
			}
			return nil
		}
		w.wish("1", events.WishAbandon, "")
		w.drive(w.process(late, nil), "1")
		w.onlyFollowUp(s, 2)
	})
}

// attempts are those of a batch's rows.
func (w *world) attempts(n string) (all []int) {
	w.t.Helper()
	entries, err := manifest.Load(w.t.Context(), w.bus, w.batch(n).Manifest)
	w.check(err)
	for _, e := range entries {
		all = append(all, e.Attempt)
	}
	return all
}

// TestAbandonIsBegunAgainAfterADeathAtAnyCall lets a process die before or after each of its calls in turn, and another go on.
func TestAbandonIsBegunAgainAfterADeathAtAnyCall(t *testing.T) {
	t.Parallel()
	lost := []simulator.Fault{{Kind: simulator.FaultCreateReplyLost}}
	for name, c := range map[string]struct {
		faults []simulator.Fault
		hold   func(w *world, s *submit.Submitter)
	}{
		"of a restored bus": {hold: func(w *world, s *submit.Submitter) { w.older(2, s) }},
		"of a create that was not answered": {faults: lost, hold: func(w *world, s *submit.Submitter) {
			w.plan(2)
			_ = s.Submit(w.t.Context(), queue, job, "1")
			w.hold("1", events.BatchCreating, events.HoldCapability)
		}},
		"of a fence": {faults: lost, hold: func(w *world, s *submit.Submitter) {
			w.plan(2)
			_ = s.Submit(w.t.Context(), queue, job, "1")
			w.hold("1", events.BatchFencing, events.HoldFence)
		}},
	} {
		for nth := 1; nth <= 8; nth++ {
			t.Run(fmt.Sprintf("%s, at call %d", name, nth), func(t *testing.T) {
				t.Parallel()
				bubble(t, simulator.Config{Latency: forEver, Faults: c.faults}, func(w *world) {
					s := w.process(w.client, nil)
					c.hold(w, s)
					w.wish("1", events.WishAbandon, "")
					dying := &hooked{Provider: w.client}
					dying.before = func(_ string, at int) error {
						if at >= nth {
							return errLost
						}
						return nil
					}
					dead := w.process(dying, nil)
					for range 20 { // hours in which its calls fail, or are of no effect that it knows of
						_ = dead.Submit(w.t.Context(), queue, job, "1")
						pass(10 * time.Minute)
					}
					if b := w.batch("1"); !b.State.Ended() && (b.Wish == nil || b.Hold == nil || len(b.FollowUps) != 0) {
						t.Errorf("what a death left: %+v", b.Batch)
					}
					w.drive(s, "1")
					w.onlyFollowUp(s, 2)
				})
			})
		}
	}
}

func TestACancelledJobsHeldBatchEndsByAbandon(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{Latency: forEver}, func(w *world) {
		s := w.process(w.client, nil)
		w.older(2, s)
		w.cancelJob()
		w.wish("1", events.WishAbandon, "")
		b := w.drive(s, "1")
		if b.State != events.BatchSettled || b.Totals.Cancelled != 2 || len(b.FollowUps) != 0 || len(w.results()) != 2 || len(w.live("1")) != 0 {
			t.Errorf("state %+v, totals %+v", b.Batch, b.Totals)
		}
	})
}

func TestAbandonOfASubmittedBatch(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]bool{"that the provider denies plans what has no result": true, "that answers again stops it and collects it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Latency: forEver}, func(w *world) {
				w.plan(3)
				s := w.process(w.client, nil)
				first := w.drive(s, "1")
				w.hold("1", events.BatchSubmitted, events.HoldNeedsAttention)
				if gone {
					w.edit("1", func(b *jobs.Batch) { b.ProviderBatchID = "00000000-0000-0000-0000-000000000000" })
					_, err := w.client.CancelBatch(w.t.Context(), first.ProviderBatchID)
					w.check(err)
				}
				b := w.batch("1")
				cursor, err := w.jobs.Cursor(w.t.Context(), &b)
				w.check(err)
				cursor.Settled.Set(1)
				cursor.Totals.Count(events.Succeeded, false, events.Usage{})
				change := jobs.NewChange(time.Now())
				change.Cursor(&cursor)
				w.check(w.jobs.Commit(w.t.Context(), change))
				w.wish("1", events.WishAbandon, "")
				b = w.drive(s, "1")
				if gone {
					w.onlyFollowUp(s, 2)
					if b.Totals.Succeeded != 1 || !slices.Equal(w.attempts("1-1"), []int{2, 2}) {
						t.Errorf("totals %+v, attempts %v", b.Totals, w.attempts("1-1"))
					}
					return
				}
				if b.State != events.BatchSubmitted || !b.Fenced || b.Hold != nil || b.Wish != nil || len(w.live("1")) != 0 {
					t.Errorf("state %+v, live %v", b.Batch, w.live("1"))
				}
			})
		})
	}
}
