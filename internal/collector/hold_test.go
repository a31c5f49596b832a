package collector_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestAJobWithoutAnAPIKeyIsHeldUntilTheKeyIsBack(t *testing.T) {
	t.Parallel()
	inWorld(t, named(1), func(w *world) {
		known := false
		s := w.service(func(c *collector.Config) {
			c.Provider = func(string) (collector.Provider, bool) { return w.p, known }
		})
		w.answers(0)
		w.finish("completed", 1, 0)
		w.collect(s)
		w.want("hold", w.batch().Hold.Code, events.HoldKeyMissing)
		w.ok(s.Sweep(w.ctx()))
		w.want("held events", len(w.events(events.BatchHeld)), 1)
		known = true
		w.ok(s.Sweep(w.ctx()))
		w.want("state", w.batch().State, events.BatchSettled)
		w.want("resumed events", len(w.events(events.BatchResumed)), 1)
	})
}

func TestAManifestThatIsNotWhatTheBatchSaysIsAHold(t *testing.T) {
	t.Parallel()
	inWorld(t, named(1), func(w *world) {
		s := w.service(nil)
		w.answers(0)
		w.edit(events.BatchProgress, func(b *events.Batch) { b.Manifest.Digest = "SHA-256=AAAA" })
		w.collect(s)
		w.want("hold", w.batch().Hold.Code, events.HoldManifestMissing)
		w.want("results", len(w.results()), 0)
	})
	inWorld(t, named(1), func(w *world) {
		s := w.service(nil)
		w.edit(events.BatchProgress, func(b *events.Batch) { b.Manifest.Name = "elsewhere" })
		begin := time.Now()
		for w.batch().Hold == nil {
			pass(max(w.collect(s), time.Second))
		}
		if waited := time.Since(begin); waited < 10*time.Minute {
			t.Errorf("held after %s", waited)
		}
	})
}

func TestAResultThatTheBusRefusesIsAHoldAndNoLoop(t *testing.T) {
	t.Parallel()
	t.Run("seen when the window is full", func(t *testing.T) {
		t.Parallel()
		refused(t, 1)
	})
	t.Run("seen at the end of the file", func(t *testing.T) {
		t.Parallel()
		refused(t, 512)
	})
}

func refused(t *testing.T, inFlight int) {
	t.Helper()
	inWorld(t, named(3), func(w *world) {
		s := w.service(func(c *collector.Config) { c.InFlight = inFlight })
		stream, err := w.f.Store.JetStream().Stream(w.ctx(), jetstore.StreamResults)
		w.ok(err)
		config := stream.CachedInfo().Config
		config.Sealed, config.DenyDelete, config.DenyPurge = true, true, true
		config.DiscardNewPerSubject, config.AllowAtomicPublish = false, false
		_, err = w.f.Store.JetStream().UpdateStream(w.ctx(), config)
		w.ok(err)
		w.answers(0, 1, 2)
		w.collect(s)
		w.want("hold", w.batch().Hold.Code, events.HoldPublish)
		w.want("bits", w.cursor().Settled.Count(), 0)
		w.want("lines", w.cursor().OutputLines, 0)
		calls := len(w.p.calls)
		w.ok(s.Sweep(w.ctx()))
		w.collect(s)
		w.want("calls", len(w.p.calls), calls)
	})
}

func TestASweepFindsWhatLostItsHint(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		s := w.service(nil)
		w.answers(0)
		w.ok(s.Sweep(w.ctx()))
		w.want("results before any progress is known", len(w.results()), 0)
		w.edit(events.BatchProgress, func(b *events.Batch) { b.Counts = events.Counts{Total: 2, Completed: 1} })
		w.ok(s.Sweep(w.ctx()))
		w.want("results", len(w.results()), 1)
		calls := len(w.p.calls)
		w.ok(s.Sweep(w.ctx()))
		w.want("calls of a sweep with nothing new", len(w.p.calls)-calls, 0)
		w.answers(1)
		w.finish("completed", 2, 0)
		w.ok(s.Sweep(w.ctx()))
		w.want("state", w.batch().State, events.BatchSettled)
	})
}

func TestAJobWhoseLastSettlerDiedIsCompleted(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(w *world, s *collector.Service){
		"by the hint that comes again": func(w *world, s *collector.Service) { w.collect(s) },
		"by a sweep":                   func(w *world, s *collector.Service) { w.ok(s.Sweep(w.ctx())) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, named(1), func(w *world) {
				b, cursor := w.batch(), w.cursor()
				cursor.Totals = events.Totals{Rows: 1, Succeeded: 1}
				w.ok(w.jobs.Settle(w.ctx(), w.f.Store, jobs.Settlement{Batch: &b, Cursor: &cursor, State: events.BatchSettled}))
				look(w, w.service(nil))
				j, err := w.jobs.Job(w.ctx(), queue, job)
				w.ok(err)
				w.want("job", j.State, events.JobCompleted)
			})
		})
	}
}
