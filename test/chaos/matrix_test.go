package chaos_test

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/internal/failpoint"
)

const (
	// allVariable says how much of the matrix runs: "all" is all of it, else a subset for the gate.
	allVariable = "BATCHBUS_CHAOS"
	// caseVariable names one case, which then runs alone.
	caseVariable = "BATCHBUS_CHAOS_CASE"
	// parallelVariable is how many runs go on side by side; the default is two per processor, since most of a run is waiting.
	parallelVariable = "BATCHBUS_CHAOS_PARALLEL"
)

// TestCrashMatrix ends services at each point of the failpoint table and judges what becomes of the rows and of the money. The whole matrix:
//
//	BATCHBUS_CHAOS=all go test ./test/chaos -run '^TestCrashMatrix$' -timeout 6h -v
//
// Without the variable it is one case of each point, chosen in turn among its moments, passages and shapes, and every case around the paid create.
//
//nolint:paralleltest // its runs share the machine by a number of their own
func TestCrashMatrix(t *testing.T) {
	if text := os.Getenv(caseVariable); text != "" {
		c, err := parseCrash(text)
		if err != nil {
			t.Fatal(err)
		}
		m := matrix{t: t, usual: map[string]time.Duration{}}
		m.run(t, c)
		t.Logf("%+v", m.toll)
		return
	}
	began := time.Now()
	r := record(t, scenarios())
	r.wantEveryPoint(t)
	cases := crashes(scenarios(), r.passed)
	if os.Getenv(allVariable) != "all" {
		cases = few(subset(cases))
	}
	m := matrix{t: t, usual: r.took}
	t.Run("case", func(t *testing.T) {
		sideBySide(t, cases, crash.String, m.run)
	})
	m.summarise(time.Since(began))
}

// sideBySide runs a subtest for each thing, a few at a time, and returns when all have ended.
func sideBySide[T any](t *testing.T, things []T, name func(T) string, run func(t *testing.T, thing T)) {
	t.Helper()
	limit := 2 * runtime.GOMAXPROCS(0)
	if text := os.Getenv(parallelVariable); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			t.Fatalf("%s is %q: want a number from 1", parallelVariable, text)
		}
	}
	var group errgroup.Group
	group.SetLimit(limit)
	for _, thing := range things {
		group.Go(func() error {
			t.Run(name(thing), func(t *testing.T) { run(t, thing) })
			return nil
		})
	}
	_ = group.Wait() // the subtests tell
}

// mostTries is how often a case is run that must reach its point: poller and collector, for one, both see that a key is back.
const mostTries = 4

// matrix runs cases and adds up what they come to.
type matrix struct {
	t     *testing.T
	usual map[string]time.Duration // what each scenario takes without a kill
	mu    sync.Mutex
	toll  toll
}

func (m *matrix) run(t *testing.T, c crash) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("this case alone: %s", c.reproduce())
		}
	})
	got := play(t, byName(t, c.scenario), c.arming())
	for tries := 1; c.certain() && len(got.killed) == 0 && tries < mostTries; tries++ { // another service was faster to do the same
		got = play(t, byName(t, c.scenario), c.arming())
	}
	if c.certain() && len(got.killed) == 0 {
		t.Error("no kill: the scenario does not reach its point every time")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.toll.add(c, got, m.usual[c.scenario])
}

func (m *matrix) summarise(took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.toll
	m.t.Logf("%d points, %d scenarios, %d cases, %d kills, %d not reached, %d with violations, %d rows of cancelled batches, %s",
		len(failpoint.Table()), len(scenarios()), l.cases, l.kills, l.notReached, l.violated, l.zombies, took.Round(time.Second))
	m.t.Logf("worst recovery: %s later than without a kill (%s); %s from the last kill to the end (%s)",
		l.worst.Round(time.Millisecond), l.worstCase, l.slowest.Round(time.Millisecond), l.slowestCase)
}
