package chaos_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/failpoint"
)

// mostPassages is up to which passage of a point it is killed.
const mostPassages = 3

// crash is one case of the matrix: a scenario in which the service of a point ends itself there.
type crash struct {
	scenario string
	failpoint.Passage
	k        int // at the k-th passage
	replicas int // of each service; all of the point's service are armed
}

// String names the case: what BATCHBUS_CHAOS_CASE takes.
func (c crash) String() string {
	return fmt.Sprintf("%s/%s/%s/%d/%d", c.scenario, c.Point, c.Moment, c.k, c.replicas)
}

// certain tells whether the kill must happen: at the first passage there is only one process to pass it. Later passages, and who of two
// replicas passes, depend on the machine.
func (c crash) certain() bool { return c.k == 1 && c.replicas == 1 }

func (c crash) arming() arming {
	return arming{replicas: c.replicas, trap: failpoint.Trap{Passage: c.Passage, K: c.k, Action: failpoint.Kill}}
}

// reproduce is the command that runs this case alone.
func (c crash) reproduce() string {
	return fmt.Sprintf("%s=%s go test ./test/chaos -run '^TestCrashMatrix$' -v", caseVariable, c)
}

// parseCrash reads what String wrote.
func parseCrash(text string) (crash, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 5 {
		return crash{}, fmt.Errorf("case %q: want <scenario>/<point>/<before|after>/<k>/<replicas>", text)
	}
	k, err := strconv.Atoi(parts[3])
	if err != nil {
		return crash{}, fmt.Errorf("case %q: %w", text, err)
	}
	replicas, err := strconv.Atoi(parts[4])
	if err != nil {
		return crash{}, fmt.Errorf("case %q: %w", text, err)
	}
	return crash{parts[0], failpoint.Passage{Point: failpoint.Point(parts[1]), Moment: failpoint.Moment(parts[2])}, k, replicas}, nil
}

// crashes are all cases of the recorded scenarios: each moment of each point, at its scenario's first passages, with one replica and with two.
func crashes(all []scenario, passed map[string]map[failpoint.Passage]int) (cases []crash) {
	for _, e := range failpoint.Table() {
		for _, moment := range failpoint.Moments() {
			p := failpoint.Passage{Point: e.Point, Moment: moment}
			name := assigned(all, passed, p)
			for k := range min(passed[name][p], mostPassages) {
				for _, replicas := range []int{1, 2} {
					cases = append(cases, crash{name, p, k + 1, replicas})
				}
			}
		}
	}
	return cases
}

// assigned is the scenario that a passage is tried in: one that is made for the point, else the one that passes it the most often, up to
// what is tried; of equals the first. Empty when none passes it.
func assigned(all []scenario, passed map[string]map[failpoint.Passage]int, p failpoint.Passage) (name string) {
	most := 0
	for _, s := range all {
		n := min(passed[s.name][p], mostPassages)
		if n > 0 && slices.Contains(s.madeFor, p.Point) {
			return s.name
		}
		if n > most {
			name, most = s.name, n
		}
	}
	return name
}

// subset is what the gate runs: of each point one case, the first of the first point, the second of the second and so on, round and round; and
// every first passage of the paid create and of the intent before it.
func subset(cases []crash) (few []crash) {
	byPoint := map[failpoint.Point][]crash{}
	for _, c := range cases {
		byPoint[c.Point] = append(byPoint[c.Point], c)
	}
	turn := 0
	for _, e := range failpoint.Table() {
		all := byPoint[e.Point]
		if len(all) == 0 {
			continue
		}
		if e.Point == "submitter.call.create_batch" || e.Point == "submitter.commit.batch.creating" {
			few = append(few, slices.DeleteFunc(all, func(c crash) bool { return c.k > 1 })...)
			continue
		}
		few = append(few, all[turn%len(all)])
		turn++
	}
	return few
}

// toll is what all cases together came to.
type toll struct {
	cases, kills, notReached, violated, zombies int
	worst                                       time.Duration // the most that a case took longer than its scenario without a kill
	worstCase                                   crash
	slowest                                     time.Duration // the most that passed from the last kill to the end
	slowestCase                                 crash
}

// add takes in a case and what it came to; usual is what the scenario takes without a kill.
func (l *toll) add(c crash, got outcome, usual time.Duration) {
	l.cases++
	l.kills += len(got.killed)
	l.zombies += got.zombies
	if len(got.broken) > 0 {
		l.violated++
	}
	if len(got.killed) == 0 {
		l.notReached++
		return
	}
	if late := got.took - usual; late > l.worst {
		l.worst, l.worstCase = late, c
	}
	if rest := got.ended.Sub(got.killed[len(got.killed)-1]); rest > l.slowest {
		l.slowest, l.slowestCase = rest, c
	}
}
