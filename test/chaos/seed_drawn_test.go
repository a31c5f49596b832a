package chaos_test

import (
	"reflect"
	"testing"
)

func TestASeedDrawsTheSamePlanEachTimeAndOneWithinTheProtocolsAssumptions(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for seed := range uint64(300) {
		p := draw(seed)
		if !reflect.DeepEqual(p, draw(seed)) {
			t.Fatalf("seed %d draws two plans", seed)
		}
		if seen[p.String()] {
			t.Errorf("seed %d draws another one's plan", seed)
		}
		seen[p.String()] = true
		p.check(t)
	}
}

// check fails on what a run of the plan would be no proof of.
func (p *plan) check(t *testing.T) {
	t.Helper()
	lag := seedLag
	if len(p.fake.Faults) == 0 {
		lag = 0
	}
	if within := p.provider.LateMax+lag <= seedQuiet; within == p.beyond {
		t.Errorf("seed %d: creates up to %s late and lists up to %s: beyond the quiet period is %v", p.seed, p.provider.LateMax, lag, p.beyond)
	}
	if seedPauseMin <= seedAckWait || seedPauseMax <= seedCreateTimeout+seedQuiet {
		t.Error("a paused process is missed by nobody")
	}
	busy := map[string]action{}
	for i, s := range p.steps {
		if i > 0 && s.at < p.steps[i-1].at {
			t.Errorf("seed %d: step %d comes before the one before it", p.seed, i)
		}
		if before := busy[s.actor]; (before == actKill && s.do != actStart) || (before == actPause && s.do != actResume) {
			t.Errorf("seed %d: %s after a %s", p.seed, s, before)
		}
		busy[s.actor] = s.do
	}
	for actor, last := range busy {
		if last == actKill || last == actPause {
			t.Errorf("seed %d: %s stays in a %s", p.seed, actor, last)
		}
	}
	rows, owned := 0, 0
	for i := range p.jobs {
		if p.jobs[i].name == rollingName && p.kills(busActor) {
			t.Errorf("seed %d: how many rows its rolling jobs have cannot be told", p.seed)
		}
		rows, owned = rows+p.jobs[i].published(), owned+p.jobs[i].owned
	}
	if rows < 40 || owned == 0 || owned > rows {
		t.Errorf("seed %d: %d rows, %d ids", p.seed, rows, owned)
	}
}
