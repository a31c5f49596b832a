package timewarp_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

const (
	dayJobs    = 20
	dayBatches = 2 * dayJobs // each job's rows are for two models
	seedsEnv   = "BATCHBUS_DAY_SEEDS"
)

// A day at a provider where everything goes wrong now and then: forty batches, a job cancelled half-way, one past its window, the account
// without credit for an hour and a half, a person at the provider's dashboard. In the end each row has its one answer, no batch was paid for
// twice, and the money adds up. BATCHBUS_DAY_SEEDS=200 runs as many days, and BATCHBUS_DAY_SEEDS=17- the one of seed 17.
func TestADayOnWhichEverythingGoesWrongNowAndThen(t *testing.T) {
	t.Parallel()
	for _, seed := range daySeeds(t) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			inWorldOf(t, troubledProvider(seed), replicasOf(seed), pollingSeldom, func(w *world) {
				d := &day{world: w, seed: seed, rows: make(map[string]int)}
				d.run()
				d.judge()
			})
		})
	}
}

// replicasOf has every fifth day, the first among them, run by two replicas of each service: they cost what they do.
func replicasOf(seed uint64) int {
	if seed%5 == 1 {
		return 2
	}
	return 1
}

// pollingSeldom is for a world whose clock has a long way to go: asking the provider is most of what a day costs. Its models have prices of their own.
func pollingSeldom(w *world) { w.pollFloor, w.prices = 3*time.Minute, dayTable(w.t) }

func daySeeds(t *testing.T) (seeds []uint64) {
	t.Helper()
	said := os.Getenv(seedsEnv)
	if one, single := cutSuffix(said, "-"); single {
		return []uint64{uint64(number(t, one))}
	}
	n := daysOfCI
	if said != "" {
		n = number(t, said)
	}
	for seed := range n {
		seeds = append(seeds, uint64(seed)+1)
	}
	return seeds
}

func cutSuffix(s, suffix string) (string, bool) {
	if len(s) > len(suffix) && s[len(s)-len(suffix):] == suffix {
		return s[:len(s)-len(suffix)], true
	}
	return s, false
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", seedsEnv, err)
	}
	return n
}

// day is what happens on one.
type day struct {
	*world
	seed    uint64
	rows    map[string]int // of each job
	resumed int            // holds that a person ended
	refused int            // creates while there was no credit
}

// deed is one thing that somebody does at a time of the day.
type deed struct {
	at time.Duration
	do func()
}

func (d *day) run() {
	deeds := d.deeds()
	slices.SortStableFunc(deeds, func(a, b deed) int { return int(a.at - b.at) })
	now := time.Duration(0)
	for _, next := range deeds {
		pass(next.at - now)
		now = next.at
		next.do()
	}
	for range 12 {
		pass(time.Hour)
		if d.resume(); d.allDone() {
			return
		}
	}
}

// Times of the day. What is published last has its window over before midnight.
const (
	creditGoes  = 5 * time.Hour
	creditComes = creditGoes + 90*time.Minute
	lastPublish = 11 * time.Hour
	window      = "12h"
)

func (d *day) deeds() (all []deed) {
	random := rand.New(rand.NewPCG(d.seed, 2))
	for i := range dayJobs {
		name, at := fmt.Sprintf("day-%02d", i), time.Duration(random.Int64N(int64(lastPublish)))
		switch i {
		case 0: // it is past its window before it is done
			all = append(all, deed{at, func() { d.open(name, 80, events.HeaderWindow, "1h") }})
		case 1, 2: // cancelled while it runs
			all = append(all, deed{at, func() { d.open(name, 160) }}, deed{at + time.Hour, func() { d.cancel(name) }})
		default:
			n := 10 + random.IntN(20)
			all = append(all, deed{at, func() { d.open(name, n) }})
		}
	}
	for at := time.Hour; at <= 24*time.Hour; at += time.Hour { // a person looks at what is held
		all = append(all, deed{at, d.resume})
	}
	faults := troubles(d.seed)
	poor := simulator.NoBalance()
	poor.Count = -1
	return append(all,
		deed{creditGoes, func() {
			d.refused = -d.sim.Ledger().Calls["POST /v1/batches"]
			d.set(append([]simulator.Fault{poor}, faults...))
		}},
		deed{creditComes, func() {
			d.refused += d.sim.Ledger().Calls["POST /v1/batches"]
			d.set(faults)
		}},
	)
}

func (d *day) set(faults []simulator.Fault) {
	if err := d.sim.SetFaults(faults...); err != nil {
		d.t.Fatal(err)
	}
}

// open publishes a sealed job whose rows are for two models. Every other job has its failures tried again.
func (d *day) open(name string, n int, headers ...string) {
	policy := events.DefaultPolicy()
	policy.Window, policy.Windows = window, []string{window, "1h"}
	if len(d.rows)%2 == 0 {
		policy.Retry = events.Retry{On: []string{events.RetryFailed, events.RetryMissingResult, events.RetryExpired}, MaxAttempts: 3}
	}
	if _, err := d.jobs.Open(d.t.Context(), queue, name, jobs.Options{Policy: policy}); err != nil {
		d.t.Fatal(err)
	}
	d.rows[name] = n
	d.publishModels(name, n, headers...)
	d.publish(name, "never", 0, events.HeaderSeal, "true")
}

func (d *day) cancel(name string) {
	m := nats.NewMsg(events.RequestSubject(queue, name))
	m.Header.Set(events.HeaderCancel, "true")
	if _, err := d.Store.Publish(d.t.Context(), m); err != nil {
		d.t.Fatal(err)
	}
}

// resume ends what only a person can end.
func (d *day) resume() {
	ctx := d.t.Context()
	ended, err := d.jobs.ResumeQueue(ctx, queue, "")
	if err != nil {
		d.t.Fatal(err)
	}
	d.resumed += len(ended)
	for b, err := range d.jobs.AllBatches(ctx) {
		if err != nil {
			d.t.Fatal(err)
		}
		if b.Hold == nil || b.State.Ended() || b.Hold.Code == events.HoldNeedsAttention {
			continue
		}
		if _, err := d.jobs.EndHold(ctx, b.Queue, b.Job, b.N, events.Wish{Kind: events.WishResume}); err != nil {
			d.t.Errorf("resume %s: %v", b.StateKey(), err)
		}
		d.resumed++
	}
}

func (d *day) allDone() bool {
	for name := range d.rows {
		if d.job(name).State != events.JobCompleted {
			return false
		}
	}
	return true
}
