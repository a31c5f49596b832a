package chaos_test

import (
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/failpoint"
)

// recording is a run of each scenario without a kill: what it passes and how long it takes.
type recording struct {
	mu     sync.Mutex
	passed map[string]map[failpoint.Passage]int // by scenario
	took   map[string]time.Duration
}

// record runs the scenarios side by side, as subtests: each must end well.
func record(t *testing.T, all []scenario) *recording {
	t.Helper()
	r := &recording{passed: map[string]map[failpoint.Passage]int{}, took: map[string]time.Duration{}}
	t.Run("record", func(t *testing.T) {
		sideBySide(t, all, func(s scenario) string { return s.name }, func(t *testing.T, s scenario) {
			dir := t.TempDir()
			got := play(t, &s, arming{replicas: 1, trace: dir})
			r.mu.Lock()
			defer r.mu.Unlock()
			r.passed[s.name], r.took[s.name] = passages(t, dir), got.took
		})
	})
	return r
}

// elsewhere are the points that no scenario can reach in seconds, and the test that looks at them.
func elsewhere() map[failpoint.Point]string {
	return map[failpoint.Point]string{
		// The alarm of the tenth failure in a row, 25 minutes of waits after the first.
		"submitter.commit.batch.needs_attention": "internal/submitter/submit, in fake time",
		// The gateway makes no topology: a service that has made it has made the name before. It is the services' own code, tried in theirs.
		"gateway.commit.bus_id": "the same call at the start of every service",
	}
}

// wantEveryPoint fails for each point of the table that no scenario passes on both of its moments: a point without a case.
func (r *recording) wantEveryPoint(t *testing.T) {
	t.Helper()
	all := map[failpoint.Passage]int{}
	for _, counts := range r.passed {
		maps.Copy(all, counts)
	}
	for _, e := range failpoint.Table() {
		if test, ok := elsewhere()[e.Point]; ok {
			t.Logf("%s is not in the matrix: %s", e.Point, test)
			continue
		}
		for _, moment := range failpoint.Moments() {
			if all[failpoint.Passage{Point: e.Point, Moment: moment}] == 0 {
				t.Errorf("no scenario passes %s:%s: a point without a case", e.Point, moment)
			}
		}
	}
}
