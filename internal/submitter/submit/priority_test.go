package submit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

func ranked(priority int) events.Policy {
	p := events.DefaultPolicy()
	p.Priority = priority
	return p
}

// created are the jobs of the batches that were created, in order.
func (w *world) created() (names []string) {
	for _, c := range w.sim.Ledger().Creates {
		names = append(names, strings.Split(c.Metadata[submit.MetaPath], "/")[2])
	}
	return names
}

func (w *world) editJob(queue, name string, edit func(*events.Job)) {
	w.t.Helper()
	j, err := w.jobs.Job(w.t.Context(), queue, name)
	w.check(err)
	edit(&j.Job)
	change := jobs.NewChange(time.Now())
	change.Job(&j)
	w.check(w.jobs.Commit(w.t.Context(), change))
}

func (w *world) wantCreated(want ...string) {
	w.t.Helper()
	if got := w.created(); !slices.Equal(got, want) {
		w.t.Errorf("created %v, want %v", got, want)
	}
}

func TestASweepSendsBatchesOfAHigherPriorityFirst(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		for _, j := range []struct {
			name     string
			priority int
		}{{"low", -5}, {"first", 0}, {"second", 0}, {"high", 7}} {
			w.planIn(queue, j.name, ranked(j.priority), 2)
		}
		s := w.process(w.client, func(c *submit.Config) { c.Workers = 1 })
		w.check(s.Sweep(w.t.Context()))
		w.wantCreated("high", "first", "second", "low")
	})
}

func TestABatchDoesNotTakeThePlaceThatAHigherOneWaitsFor(t *testing.T) {
	t.Parallel()
	for why, text := range map[string]string{
		"upload_slots": simulator.TextUploadSlots, "too_many_requests": "slow down", "capacity": simulator.TextCapacity,
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{}, func(w *world) {
				g := &gate{status: 429, text: text, only: "/high/"}
				w.planIn(queue, "high", ranked(1), 2)
				s := w.process(w.gated(g), func(c *submit.Config) { c.Workers = 1 })
				_ = s.Submit(w.t.Context(), queue, "high", "1") // having to wait is its error
				w.check(s.Sweep(w.t.Context()))
				w.planIn(queue, "low", ranked(0), 2)
				w.planIn(queue, "peer", ranked(1), 1)          // so small that it may fit where the other did not
				_ = s.Submit(w.t.Context(), queue, "low", "1") // having to wait is its error
				b, err := w.jobs.Batch(w.t.Context(), queue, "low", "1")
				w.check(err)
				if b.Why != "outranked" || b.FileID != "" || b.State != events.BatchPlanned {
					t.Errorf("%+v", b.Batch)
				}
				revision := b.Revision
				w.runFor(10*time.Minute, s)
				if b, err = w.jobs.Batch(w.t.Context(), queue, "low", "1"); err != nil || b.Revision != revision {
					t.Errorf("it says so again and again: %+v, %v", b.Batch, err)
				}
				w.wantCreated("peer") // of the same priority
				g.open.Store(true)
				w.runFor(20*time.Minute, s)
				w.wantCreated("peer", "high", "low")
			})
		})
	}
}

func TestABatchThatNobodyTriesKeepsNoPlace(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(w *world){
		"its job is held": func(w *world) {
			w.editJob("other", "high", func(j *events.Job) { j.Hold = &events.Hold{Code: events.HoldRowsOlder, At: time.Now()} })
		},
		"its job is cancelled": func(w *world) {
			w.editJob("other", "high", func(j *events.Job) { at := time.Now(); j.CancelWanted = &at })
		},
		"its queue is paused": func(w *world) { _, err := w.jobs.PauseQueue(w.t.Context(), "other", "test"); w.check(err) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{}, func(w *world) {
				g := &gate{status: 429, text: "slow down", only: "/high/"}
				w.planIn("other", "high", ranked(1), 2)
				w.planIn(queue, "low", ranked(0), 2)
				s := w.process(w.gated(g), func(c *submit.Config) { c.Workers = 1 })
				_ = s.Submit(w.t.Context(), "other", "high", "1") // having to wait is its error
				stop(w)
				w.runFor(3*time.Minute, s)
				w.wantCreated("low")
			})
		})
	}
}
