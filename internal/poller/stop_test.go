package poller_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// gate is a provider whose lists wait for a test.
type gate struct {
	batch   doubleword.Batch
	entered chan struct{} // one for each list that has begun
	open    chan struct{} // closed: lists are answered
}

func newGate(status string) *gate {
	return &gate{
		batch:   doubleword.Batch{ID: "remote", Status: status, Counts: doubleword.Counts{Total: 1, Completed: 1}},
		entered: make(chan struct{}, 10), open: make(chan struct{}),
	}
}

func (g *gate) AllBatches(ctx context.Context, _ doubleword.BatchQuery) iter.Seq2[doubleword.Batch, error] {
	return func(yield func(doubleword.Batch, error) bool) {
		g.entered <- struct{}{}
		select {
		case <-g.open:
			yield(g.batch, nil)
		case <-ctx.Done():
			yield(doubleword.Batch{}, ctx.Err())
		}
	}
}

func (g *gate) Batch(context.Context, string) (doubleword.Batch, error) { return g.batch, nil }

func (w *world) submitTo(g *gate) {
	w.t.Helper()
	w.store("1", func(b *events.Batch) { b.State, b.ProviderBatchID = events.BatchSubmitted, g.batch.ID })
}

func TestTwoPollersThatSeeTheEndTellItOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		g := newGate("completed")
		w.submitTo(g)
		one, other := w.run(w.configFor(g)), w.run(w.configFor(g))
		<-g.entered // by one of them, which holds the tick
		<-g.entered // by the other or another worker, for the next tick: both have read the same state
		close(g.open)
		pass(5 * time.Minute)
		one.end()
		other.end()
		w.want("state", w.batch("1").State, events.BatchFinished)
		w.want("finished events", w.told(events.BatchIsFinished), map[string]int{"1": 1})
	})
}

func TestAStopLetsThePollUnderWayEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		g := newGate("completed")
		w.submitTo(g)
		p := w.run(w.configFor(g))
		<-g.entered
		p.stop()
		pass(5 * time.Second)
		synctest.Wait()
		select {
		case err := <-p.done:
			t.Fatalf("it did not wait for the poll: %v", err)
		default:
		}
		close(g.open)
		w.ok(<-p.done)
		w.want("state", w.batch("1").State, events.BatchFinished)
	})
}

func TestAStopWaitsNoLongerThanTheDrain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		g := newGate("completed")
		w.submitTo(g)
		p := w.run(w.configFor(g))
		<-g.entered
		stopped := time.Now()
		p.end()
		if took := time.Since(stopped); took < 10*time.Second || took > 15*time.Second {
			t.Errorf("it took %s", took)
		}
		b := w.batch("1")
		if b.State != events.BatchSubmitted || b.LastError != "" || b.UnknownSince != nil {
			t.Errorf("a stop is no outage of the provider: %+v", b.Batch)
		}
	})
}
