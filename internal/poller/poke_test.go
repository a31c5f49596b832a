package poller_test

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/poller"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestAPokedBatchIsPolledAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.submit("1", "2")
		later := time.Now().Add(8 * time.Hour)
		w.store("3", func(b *events.Batch) {
			b.State, b.ProviderBatchID, b.Key, b.NextPollAt = events.BatchSubmitted, "other-key", "other", &later
		})
		w.during(45 * time.Second)
		pass(2 * time.Hour) // nobody polls, and both have ended
		s, err := poller.New(w.config())
		w.ok(err)
		before := w.calls(list)
		w.ok(s.Poke(w.ctx(), []string{"nobody's"}))
		w.want("requests for an unknown batch", w.calls(list)-before, 0)
		w.ok(s.Poke(w.ctx(), []string{w.batch("1").ProviderBatchID, "other-key", "nobody's"}))
		w.want("requests", w.calls(list)-before, 1)
		w.want("the poked one", w.batch("1").State, events.BatchFinished)
		if b := w.batch("3"); b.NextPollAt.After(time.Now()) {
			t.Errorf("one of a key that this replica lacks is due at %s, so another replica waits", b.NextPollAt)
		}
	})
}

// P70: a webhook and a poll at once give one set of events.
func TestP70APokeAndAPollAtOnceTellTheEndOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		g := newGate("completed")
		w.submitTo(g)
		p := w.run(w.configFor(g))
		<-g.entered // the tick's poll has read the state
		s, err := poller.New(w.configFor(g))
		w.ok(err)
		poked := make(chan error, 1)
		go func() { poked <- s.Poke(w.ctx(), []string{g.batch.ID}) }()
		<-g.entered // and so has the poke's
		close(g.open)
		w.ok(<-poked)
		pass(5 * time.Minute)
		p.end()
		w.want("state", w.batch("1").State, events.BatchFinished)
		w.want("finished events", w.told(events.BatchIsFinished), map[string]int{"1": 1})
	})
}
