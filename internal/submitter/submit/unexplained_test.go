package submit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// setJob changes the job's state.
func (w *world) setJob(state events.JobState) {
	w.t.Helper()
	j, err := w.jobs.Job(w.t.Context(), queue, job)
	w.check(err)
	j.State = state
	change := jobs.NewChange(time.Now())
	change.Job(&j)
	w.check(w.jobs.Commit(w.t.Context(), change))
}

func TestABatchOfARestoredJobIsNotSentWhileTheProviderHasOneThatNothingExplains(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(w *world){
		"no batch of its number": func(w *world) {
			w.check(w.bus.Purge(w.t.Context(), jetstore.StreamJobs, jetstore.KeySubject(events.BatchKey(queue, job, "2")), 0))
		},
		"a batch of other rows": func(w *world) {
			w.edit("2", func(b *jobs.Batch) { b.State, b.Digest, b.ProviderBatchID = events.BatchPlanned, "other rows", "" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{}, func(w *world) {
				w.plan(2, 2)
				s := w.process(w.client, nil)
				remote := w.drive(s, "2").ProviderBatchID
				forget(w)
				w.setJob(events.JobOpen)
				for range 100 {
					if err := s.Submit(w.t.Context(), queue, job, "1"); err == nil || errors.Is(err, jetstore.ErrConflict) {
						w.t.Fatalf("the drive of a batch that nothing can be said of: %v", err)
					}
					pass(time.Minute)
				}
				if b := w.batch("1"); b.State != events.BatchPlanned || b.Hold != nil || b.Why != "other_batches_unexplained" || b.NextTryAt == nil {
					w.t.Errorf("while the job is not planned: %+v", b.Batch)
				}
				w.setJob(events.JobPlanned)
				b := w.drive(s, "1")
				if b.Hold == nil || b.Hold.Code != events.HoldBusOlder || !strings.Contains(b.Hold.Message, remote) {
					w.t.Errorf("hold %+v", b.Hold)
				}
				if ledger := w.sim.Ledger(); len(ledger.Creates) != 1 || len(ledger.Uploads) != 1 {
					w.t.Errorf("ledger %+v", ledger)
				}
				w.wish("1", events.WishAbandon, "")
				if b = w.drive(s, "1"); !b.State.Ended() || !slices.Equal(b.FollowUps, []string{"1-1"}) {
					w.t.Errorf("abandoned: %+v", b.Batch)
				}
				follow := w.drive(s, "1-1")
				w.onlyLive(&follow)
			})
		})
	}
}

func TestABatchIsSentWhenTheRestOfTheJobExplainsWhatTheProviderHas(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(2, 2, 2)
		s := w.process(w.client, nil)
		w.drive(s, "2")
		second := w.batch("2")
		w.edit("2", func(b *jobs.Batch) {
			b.State, b.Digest, b.ProviderBatchID = events.BatchPlanned, "not planned yet", ""
		})
		w.setJob(events.JobOpen)
		if err := s.Submit(w.t.Context(), queue, job, "1"); err == nil {
			w.t.Fatal("it was sent too early")
		}
		w.edit("2", func(b *jobs.Batch) { b.Digest = second.Digest })
		first := w.drive(s, "1")
		w.onlyLive(&first)
		for _, explained := range []func(b *jobs.Batch){ // by what a person has said of the second
			func(b *jobs.Batch) { b.Digest, b.ForeignDigest = "other rows", second.Digest },
			func(b *jobs.Batch) {
				b.ForeignDigest, b.ProviderBatchID, b.Abandoned = "", "", []string{second.ProviderBatchID}
			},
		} {
			w.edit("2", explained)
			w.edit("3", func(b *jobs.Batch) { b.State, b.ProviderBatchID, b.FileID, b.Attempt = events.BatchPlanned, "", "", 0 })
			third := w.drive(s, "3")
			w.onlyLive(&third)
		}
	})
}
