package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/test/chaos/proxy"
	"github.com/batchbus/batchbus/test/rig"
)

// The times that services work by in a storm. What design.md 5.4 takes for granted is that a create that the provider commits after its
// client's timeout, and the lag of a list behind that, are over within the quiet period: seedSlack + seedLag < seedQuiet. Plans that are
// beyond that are drawn too, and only the deletion of the input file keeps those from paying twice.
const (
	seedAckWait       = 2 * time.Second
	seedCreateTimeout = 2 * time.Second
	seedQuiet         = 1500 * time.Millisecond
	seedSlack         = 700 * time.Millisecond
	seedLag           = 500 * time.Millisecond
	seedExtra         = 8 * time.Second // for which a storm waits for the last batch to be made
	seedPauseMin      = seedAckWait + 500*time.Millisecond
	seedPauseMax      = seedAckWait + seedCreateTimeout + seedQuiet // longer than any wait of the protocol
)

// seedFlags are the services' flags.
func seedFlags() []string {
	return []string{
		"--ack-wait=" + seedAckWait.String(), "--create-timeout=" + seedCreateTimeout.String(), "--quiet-period=" + seedQuiet.String(),
		"--upload-allowance=3s", "--poll-floor=500ms", "--poll-ceiling=1s", "--missing-grace=1s", "--cancel-grace=1s",
		"--sweep-interval=1s", "--drain-timeout=2s", "--linger=3s",
	}
}

// plan is all that a seed decides.
type plan struct {
	seed     uint64
	replicas int
	jobs     []seedJob
	bus      proxy.BusFaults
	provider proxy.ProviderFaults
	beyond   bool // creates are held back for longer than the quiet period
	fake     simulator.Config
	storm    time.Duration // in which rows are published, sent and run, and incidents begin
	steps    []step
	frozen   []string // failpoints at which submitters stop themselves, by replica; empty: none
	freeze   time.Duration
}

// draw makes the plan of a seed.
func draw(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	p := plan{seed: seed, replicas: 1 + r.IntN(2), storm: span(r, 7*time.Second, 11*time.Second)}
	for i, jobs := 0, 1+r.IntN(4); i < jobs; i++ {
		j := drawJob(r, fmt.Sprintf("job-%d", i+1), (50+r.IntN(351))/jobs)
		j.from, j.lasts = span(r, 0, p.storm/4), span(r, p.storm/20, p.storm/4)
		p.jobs = append(p.jobs, j)
	}
	rolls := r.IntN(2) == 0
	p.bus = proxy.BusFaults{
		LoseAck: share(r, 0.05), DoublePublish: share(r, 0.1), LoseConsumed: share(r, 0.2), LoseDelivery: share(r, 0.1),
		DoubleDelivery: share(r, 0.3), Stall: share(r, 0.003), StallMax: span(r, 100*time.Millisecond, 3*time.Second),
		Cut: share(r, 0.8), CutBytes: 1 << (10 + r.IntN(9)),
	}
	p.provider = proxy.ProviderFaults{Calls: share(r, 0.3), Creates: share(r, 0.6), Late: share(r, 0.6), DelayMax: span(r, 100*time.Millisecond, time.Second)}
	p.provider.LateMin, p.provider.LateMax = 0, seedSlack
	if p.beyond = r.IntN(2) == 0; p.beyond {
		p.provider.LateMin, p.provider.LateMax = seedQuiet, seedQuiet+2*time.Second
	}
	p.fake = drawFake(r)
	p.steps = drawSteps(r, p.replicas, p.storm)
	if rolls && !p.kills(busActor) {
		p.jobs[len(p.jobs)-1].name = rollingName
	}
	p.frozen = make([]string, p.replicas)
	if r.IntN(2) == 0 {
		p.frozen[r.IntN(p.replicas)] = fmt.Sprintf("submitter.call.create_batch:before:%d:stop", 1+r.IntN(2))
	}
	p.freeze = span(r, seedPauseMin, seedPauseMax+2*time.Second)
	return p
}

// kills tells whether a process is killed. Rows without a job are not published where it is the nats-server: what it knows of a Nats-Msg-Id
// whose message was done dies with it, and a publisher that repeats itself after that has his rows in the next window's job too.
func (p *plan) kills(actor string) bool {
	return slices.ContainsFunc(p.steps, func(s step) bool { return s.do == actKill && s.actor == actor })
}

// drawFake is the provider itself: how fast it is, what fails, and how far its lists lag.
func drawFake(r *rand.Rand) simulator.Config {
	c := simulator.Config{
		Seed: r.Uint64(), Latency: span(r, 0, 500*time.Millisecond), RowsPerSecond: float64(50 + r.IntN(1000)),
		SweepInterval: 200 * time.Millisecond,
	}
	if r.IntN(3) == 0 {
		c.FailureRate = 0.1 * r.Float64()
	}
	if r.IntN(2) == 0 {
		lag := simulator.Fault{Kind: simulator.FaultListLag, Count: -1, Share: 0.5, Delay: span(r, seedLag/4, seedLag)}
		for _, route := range []string{"GET /v1/batches", "GET /v1/files"} {
			lag.Route = route
			c.Faults = append(c.Faults, lag)
		}
	}
	return c
}

// share is the share of calls that a fault hits: nothing in one plan of three.
func share(r *rand.Rand, most float64) float64 { return max(0, most*(1.5*r.Float64()-0.5)) }

func span(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// String tells of a plan in one line.
func (p *plan) String() string {
	var incidents []string
	for _, s := range p.steps {
		incidents = append(incidents, s.String())
	}
	rows := 0
	for _, j := range p.jobs {
		rows += j.published()
	}
	return fmt.Sprintf("seed %d: %d replicas, %d jobs of %d rows, storm %s, bus %+v, provider %+v, lag %d, frozen %v for %s, %s",
		p.seed, p.replicas, len(p.jobs), rows, p.storm, p.bus, p.provider, len(p.fake.Faults), p.frozen, p.freeze, strings.Join(incidents, ", "))
}

// action is what a step does to a process.
type action string

const (
	actKill   action = "kill"
	actStart  action = "start"
	actPause  action = "pause"
	actResume action = "resume"
	actCut    action = "cut"
)

// step is one thing that befalls a process at a time, counted from the beginning of the storm.
type step struct {
	at    time.Duration
	do    action
	actor string
}

func (s step) String() string {
	return fmt.Sprintf("%s %s at %s", s.do, s.actor, s.at.Round(time.Millisecond))
}

// busActor is the nats-server's name among the actors.
const busActor = "nats-server"

func actorName(service string, replica int) string { return fmt.Sprintf("%s-%d", service, replica) }

// drawSteps draws three to nine incidents, each a pair of steps; those of one process do not overlap.
func drawSteps(r *rand.Rand, replicas int, storm time.Duration) []step {
	actors := []string{busActor}
	for _, service := range rig.Services() {
		for replica := range replicas {
			actors = append(actors, actorName(service, replica))
		}
	}
	var steps []step
	for wanted, tries := 3+r.IntN(7), 0; wanted > 0 && tries < 100; tries++ {
		actor, at := actors[r.IntN(len(actors))], span(r, 0, storm)
		incident := drawIncident(r, actor, at)
		if !overlap(steps, incident) {
			steps = append(steps, incident...)
			wanted--
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return int(a.at - b.at) })
	return steps
}

// overlap tells whether an incident's process is busy with another one at the time, or shortly before or after.
func overlap(steps, incident []step) bool {
	begin, end := incident[0].at-seedPauseMax, incident[len(incident)-1].at+time.Second
	return slices.ContainsFunc(steps, func(s step) bool {
		return s.actor == incident[0].actor && s.at > begin && s.at < end
	})
}

func drawIncident(r *rand.Rand, actor string, at time.Duration) []step {
	switch n := r.IntN(10); {
	case n < 5:
		return []step{{at, actKill, actor}, {at + span(r, 0, time.Second), actStart, actor}}
	case n < 9:
		return []step{{at, actPause, actor}, {at + span(r, seedPauseMin, seedPauseMax), actResume, actor}}
	default:
		return []step{{at, actCut, actor}}
	}
}
