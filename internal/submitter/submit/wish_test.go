package submit_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// wish ends a hold as a person does.
func (w *world) wish(n string, kind events.WishKind, providerID string) jobs.Batch {
	w.t.Helper()
	b, err := w.jobs.EndHold(w.t.Context(), queue, job, n, events.Wish{Kind: kind, ProviderBatchID: providerID})
	w.check(err)
	return b
}

// hold holds a batch in the given state.
func (w *world) hold(n string, state events.BatchState, code string) {
	w.t.Helper()
	w.edit(n, func(b *jobs.Batch) {
		b.State, b.Hold = state, &events.Hold{Code: code, Message: "held by the test", At: time.Now()}
	})
}

// stranger makes a remote batch of the given rows; edit may change what it is made of.
func (w *world) stranger(rows int, b *jobs.Batch, edit func(*doubleword.NewBatch)) doubleword.Batch {
	w.t.Helper()
	file, err := w.client.UploadFile(w.t.Context(), "x", func(out io.Writer) error {
		for i := range rows {
			if _, err := fmt.Fprintf(out, "{\"custom_id\":\"%d~other-%d\"%s\n", i, i, tail("other")); err != nil {
				return err
			}
		}
		return nil
	})
	w.check(err)
	create := doubleword.NewBatch{
		InputFileID: file.ID, Endpoint: b.URL, CompletionWindow: b.Window,
		Metadata: map[string]string{submit.MetaPath: submit.Path(busID, &b.Batch), submit.MetaDigest: "other", submit.MetaAttempt: "1"},
	}
	if edit != nil {
		edit(&create)
	}
	remote, err := w.client.CreateBatch(w.t.Context(), create)
	w.check(err)
	return remote
}

// older holds batch 1 as of a bus that was restored: the provider runs a batch of its path with other rows.
func (w *world) older(rows int, s *submit.Submitter) doubleword.Batch {
	w.t.Helper()
	w.plan(rows)
	b := w.batch("1")
	remote := w.stranger(rows, &b, nil)
	if b = w.drive(s, "1"); b.Hold == nil || b.Hold.Code != events.HoldBusOlder {
		w.t.Fatalf("hold %+v", b.Hold)
	}
	return remote
}

const forEver = 1000 * time.Hour

func TestABatchOfOtherRowsIsFollowedOnlyByAPersonsWishAndWithTheLeaveToLackRows(t *testing.T) {
	t.Parallel()
	for name, named := range map[string]bool{"when it is named": true, "when it is the only one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Latency: forEver}, func(w *world) {
				s := w.process(w.client, nil)
				remote, id := w.older(3, s), ""
				if named {
					id = remote.ID
				}
				if b := w.wish("1", events.WishAdopt, id); b.Hold == nil || b.Wish == nil || b.Why != "adopt_wanted" {
					t.Errorf("wished %+v", b.Batch)
				}
				b := w.drive(s, "1")
				w.onlyLive(&b)
				if b.ProviderBatchID != remote.ID || !b.Fenced || b.ForeignDigest != "other" || b.Hold != nil || b.Wish != nil || len(w.sim.Ledger().Creates) != 1 {
					t.Errorf("state %+v", b.Batch)
				}
				if kinds := w.kinds("1"); !slices.Contains(kinds, events.BatchAdopting) || !slices.Contains(kinds, events.BatchIsSubmitted) {
					t.Errorf("events %v", kinds)
				}
			})
		})
	}
}

func TestWhatIsNotThisBatchIsNotAdopted(t *testing.T) {
	t.Parallel()
	anotherPath := func(c *doubleword.NewBatch) { c.Metadata[submit.MetaPath] = "BUS7/default/Nightly_1/2/" }
	for name, c := range map[string]struct {
		make func(w *world, b *jobs.Batch) string // and returns the id to adopt
		says string
	}{
		"a batch of another path": {says: "not of the path", make: func(w *world, b *jobs.Batch) string { return w.stranger(2, b, anotherPath).ID }},
		"a batch with more rows":  {says: "has 3 rows and this batch 2", make: func(w *world, b *jobs.Batch) string { return w.stranger(3, b, nil).ID }},
		"a batch that is not there": {says: "has no batch", make: func(*world, *jobs.Batch) string {
			return "00000000-0000-0000-0000-000000000000"
		}},
		"a batch that was stopped before it had answers": {says: "nothing to follow", make: func(w *world, b *jobs.Batch) string {
			remote := w.stranger(2, b, nil)
			_, err := w.client.CancelBatch(w.t.Context(), remote.ID)
			w.check(err)
			return remote.ID
		}},
		"one of several, without a name": {says: "name the one to adopt", make: func(w *world, b *jobs.Batch) string { w.stranger(2, b, nil); return "" }},
		"opaque ids that tell no row": {says: "opaque ids", make: func(w *world, b *jobs.Batch) string {
			w.edit("1", func(b *jobs.Batch) { b.OpaqueIDs, b.Hold.Code = true, events.HoldFence })
			return ""
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{Latency: forEver}, func(w *world) {
				s := w.process(w.client, nil)
				first := w.older(2, s)
				b := w.batch("1")
				id := c.make(w, &b)
				pass(time.Minute)
				code := w.batch("1").Hold.Code
				w.wish("1", events.WishAdopt, id)
				b = w.drive(s, "1")
				if b.State != events.BatchPlanned || b.Hold == nil || b.Hold.Code != code || !strings.Contains(b.Hold.Message, c.says) || b.Wish != nil {
					t.Errorf("state %+v hold %+v", b.Batch, b.Hold)
				}
				if remote, err := w.client.Batch(w.t.Context(), first.ID); err != nil || !remote.Alive() {
					t.Errorf("the batch that is there was stopped: %+v %v", remote, err)
				}
			})
		})
	}
}

func TestABatchThatAPersonFoundIsAdoptedWhereTheProviderCannotBeSearched(t *testing.T) {
	t.Parallel()
	faults := []simulator.Fault{{Kind: simulator.FaultCreateReplyLost}}
	bubble(t, simulator.Config{Latency: forEver, Faults: faults}, func(w *world) {
		w.plan(2)
		provider, _ := w.lacking(doubleword.Capabilities{})
		s := w.process(provider, nil)
		if b := w.drive(s, "1"); b.Hold == nil || b.Hold.Code != events.HoldCapability {
			t.Fatalf("hold %+v", b.Hold)
		}
		w.wish("1", events.WishAdopt, w.sim.Ledger().Creates[0].BatchID)
		b := w.drive(s, "1")
		w.onlyLive(&b)
		if b.Fenced || b.ForeignDigest != "" || w.sim.Ledger().Calls["POST /v1/batches"] != 1 {
			t.Errorf("state %+v", b.Batch)
		}
	})
}

func TestAnAdoptedBatchIsTheOnlyOneThatStaysAlive(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{Latency: forEver}, func(w *world) {
		s := w.process(w.client, nil)
		w.older(2, s)
		b := w.batch("1")
		chosen := w.stranger(2, &b, nil)
		pass(time.Minute)
		w.wish("1", events.WishAdopt, chosen.ID)
		b = w.drive(s, "1")
		w.onlyLive(&b)
		if b.ProviderBatchID != chosen.ID {
			t.Errorf("follows %s", b.ProviderBatchID)
		}
	})
}

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
