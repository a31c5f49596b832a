package chaos_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/test/rig"
)

// scenario is a small course of events that passes certain points. Without a kill it takes a few seconds.
type scenario struct {
	name      string
	madeFor   []failpoint.Point // are tried in this one, whichever others pass them
	services  []string          // flags of every service
	simulator []string          // flags of the simulator
	first     string            // the service that is ready before the others start
	plays     func() []role     // what the provider plays from the start
	limited   bool              // the queue has limits of what it may spend, and its ledger is judged
	run       func(w *world)
	want      expectation
}

// scenarios are all of them, in the order in which points are assigned to them.
func scenarios() []scenario {
	return slices.Concat(
		[]scenario{plain(), leak()}, starts(), unanswered(), refusals(), cancels(), strange(), slow(), unread(), keys(), asked(), cuts(), called(),
	)
}

// byName finds a scenario.
func byName(t testing.TB, name string) *scenario {
	t.Helper()
	for _, s := range scenarios() {
		if s.name == name {
			return &s
		}
	}
	t.Fatalf("no scenario is called %q", name)
	return nil
}

// opens tells whether rows of the due have a job: those on a bad subject have none.
func (d due) opens() bool { return d.job != "_" }

// outcome is what one run came to.
type outcome struct {
	took    time.Duration // from the first row to the end
	killed  []time.Time
	ended   time.Time
	zombies int // rows that the provider ran in batches that were cancelled
	broken  []violation
}

// play runs a scenario to its end and judges it.
func play(t testing.TB, s *scenario, a arming) outcome {
	t.Helper()
	w := newWorld(t, s, a)
	if s.limited {
		w.limit()
	}
	began := time.Now()
	s.run(w)
	w.finish(s.want)
	ended := time.Now()
	left := w.settle(s.want)
	if s.limited {
		w.judgeLedger()
	}
	if len(w.broken) > 0 {
		t.Errorf("%s", explain(w.broken))
	}
	return outcome{took: ended.Sub(began), killed: w.killed, ended: ended, zombies: zombieRows(left), broken: w.broken}
}

func explain(broken []violation) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d violations:", len(broken))
	for _, v := range broken {
		fmt.Fprintf(&text, "\n  %s", v)
	}
	return text.String()
}

// rows are n rows of one model called prefix-0 and so on.
func rows(prefix, model string, n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(rig.Chat(fmt.Sprintf("%s-%d", prefix, i), model, fmt.Sprintf("question %d", i)))
	}
	return text.String()
}
