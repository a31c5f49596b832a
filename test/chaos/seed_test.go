//go:build unix

package chaos_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// The two variables of TestRandomChaos.
const (
	// seedVariable is the one seed to run: BATCHBUS_CHAOS_SEED=123.
	seedVariable = "BATCHBUS_CHAOS_SEED"
	// seedsVariable is how many seeds to run, from 1 on: BATCHBUS_CHAOS_SEEDS=200.
	seedsVariable = "BATCHBUS_CHAOS_SEEDS"
)

// fairDeadline is how long everything may take once the weather is fair.
const (
	fairDeadline = 90 * time.Second
	seedIsSlow   = 20 * time.Second // after which it is worth a line
)

// TestRandomChaos runs storms by seed and judges each by the invariants of judge_test.go, once the weather is fair. One seed, and two hundred:
//
//	BATCHBUS_CHAOS_SEED=123 go test ./test/chaos -run '^TestRandomChaos$' -v
//	BATCHBUS_CHAOS_SEEDS=200 go test ./test/chaos -run '^TestRandomChaos$' -timeout 3h -v
//
// As many run side by side as -parallel says, each on a nats-server, a provider and services of its own. A seed replays the plan that is
// printed: what is published, which calls are hit by which fault, and what befalls which process when. It does not replay the machine's
// scheduling: which call is the nth, and where a process is when it is killed, can differ.
func TestRandomChaos(t *testing.T) {
	t.Parallel()
	report := &seedReport{}
	t.Cleanup(func() { t.Log(report) })
	for _, seed := range seeds(t) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			runSeed(t, seed, report)
		})
	}
}

// seeds are those to run.
func seeds(t *testing.T) []uint64 {
	t.Helper()
	if text := os.Getenv(seedVariable); text != "" {
		return []uint64{number(t, seedVariable, text)}
	}
	count := uint64(seedsInCI)
	if text := os.Getenv(seedsVariable); text != "" {
		count = number(t, seedsVariable, text)
	}
	all := make([]uint64, count)
	for i := range all {
		all[i] = uint64(i) + 1
	}
	return all
}

func number(t *testing.T, variable, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// runSeed runs one plan: a storm, then fair weather until all rows have come to their end, then the judge.
func runSeed(t *testing.T, seed uint64, report *seedReport) {
	began := time.Now()
	p := draw(seed)
	t.Log(&p)
	w := newSeedWorld(t, p)
	defer w.provider.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*fairDeadline)
	defer cancel()
	wait := w.publishers(ctx)
	published := make(chan error, 1)
	w.weather(true)
	go func() { published <- wait() }()
	w.storm(published)
	w.weather(false)
	took, finished := w.settle()
	w.provider.Settle()
	if !finished {
		t.Errorf("not at its end %s after the last fault", fairDeadline)
		w.tell()
	}
	left := w.d.Look()
	broken := judge(left, expectation{dues: w.dues(), allowed: []events.Kind{events.BatchTwin}})
	if audit := w.d.CLI("audit", "--all", "--json", "--provider"); audit.Code != 0 {
		broken = append(broken, violation{audited, fmt.Sprintf("batchbus audit ends with %d: %s%s", audit.Code, audit.Stdout, audit.Stderr)})
	}
	for _, v := range broken {
		t.Error(v)
	}
	if len(broken) > 0 {
		w.tell()
	}
	report.add(seedOutcome{
		seed: seed, failed: t.Failed(), took: took, wall: time.Since(began), counts: w.tally.Counts(),
		zombieRows: zombieRows(left), cancelled: len(left.Ledger.Cancels), twins: countEvents(left.Events, events.BatchTwin), fences: countEvents(left.Events, events.BatchIsFencing),
		rowsRun: left.Ledger.RowsRun,
	})
}

// settle waits until every row has its end and every job is done, and returns how long after the last fault that was; then until nothing is left
// to be acknowledged: hints that mean nothing any more are given back for up to a minute. False when either does not come. A submitter that
// only now comes to the point where it stops itself is one more fault.
func (w *seedWorld) settle() (took time.Duration, finished bool) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	told := false
	for last := time.Now(); ; <-tick.C {
		w.thaw()
		w.supervise()
		since := time.Since(last)
		switch {
		case w.frozen():
			last, took = time.Now(), 0
		case took == 0 && w.ended():
			took = since
		case took > 0 && len(w.d.Waiting()) == 0:
			return took, true
		case since > fairDeadline:
			return since, false
		case took == 0 && since > seedIsSlow && !told:
			told = true
			w.t.Logf("slow: %s after the last fault these wait: %v", since.Round(time.Millisecond), w.d.Waiting())
		}
	}
}

func (w *seedWorld) ended() bool {
	for i := range w.plan.jobs {
		j := &w.plan.jobs[i]
		if results, letters := w.counts(j.name); results+letters < j.published() {
			return false
		}
	}
	return w.completed()
}

// completed tells whether there are jobs, and all of them are done.
func (w *seedWorld) completed() bool {
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Second)
	defer cancel()
	n := 0
	for e, err := range w.d.Store.Entries(ctx, "job.") {
		if err != nil {
			return false
		}
		if j, err := events.ParseJob(e.Value); err != nil || j.State != events.JobCompleted {
			return false
		}
		n++
	}
	return n > 0
}

// dues are what must have become of the rows: who owns an id is decided by the bus, how many ids there are by the plan.
func (w *seedWorld) dues() []due {
	var dues []due
	for i := range w.plan.jobs {
		j := &w.plan.jobs[i]
		dues = append(dues, due{job: j.name, published: j.published()})
		if results, _ := w.counts(j.name); j.name != rollingName && results != j.owned {
			w.t.Errorf("job %s has %d results, and %d different ids were published", j.name, results, j.owned)
		}
	}
	return dues
}

// tell logs what stands where, for whoever looks for the cause.
func (w *seedWorld) tell() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), 5*time.Second)
	defer cancel()
	for i := range w.plan.jobs {
		j := &w.plan.jobs[i]
		results, letters := w.counts(j.name)
		w.t.Logf("job %s: %d of %d rows published, %d ids: %d results, %d dead letters", j.name, results+letters, j.published(), j.owned, results, letters)
	}
	w.t.Logf("waiting %v", w.d.Waiting())
	for _, prefix := range []string{"job.", "batch.", "cursor."} {
		for e, err := range w.d.Store.Entries(ctx, prefix) {
			if err != nil {
				w.t.Log(err)
				break
			}
			if prefix == "cursor." {
				w.t.Logf("%s %d bytes", e.Key, len(e.Value))
				continue
			}
			w.t.Logf("%s %s", e.Key, e.Value)
		}
	}
	l := w.d.Ledger()
	for _, c := range l.Creates {
		w.t.Logf("create %+v", c)
	}
	w.t.Logf("deletes %+v cancels %+v", l.Deletes, l.Cancels)
	for _, e := range w.d.Look().Events {
		switch e.Kind {
		case events.BatchTwin, events.BatchOrphan, events.BatchHeld, events.JobHeld, events.BatchOrphanResult, events.BatchIsFencing:
			w.t.Logf("event %+v", e)
		default: // the course of things
		}
	}
}
