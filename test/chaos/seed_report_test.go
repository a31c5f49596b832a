package chaos_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// seedOutcome is what one seed came to.
type seedOutcome struct {
	seed       uint64
	failed     bool
	took       time.Duration // from the last fault to the end
	wall       time.Duration // all of it
	counts     map[string]int
	rowsRun    int
	zombieRows int // rows run in batches that were cancelled
	cancelled  int // batches that were cancelled
	twins      int
	fences     int
}

// seedReport sums seeds up. It is safe for concurrent use.
type seedReport struct {
	mu       sync.Mutex
	outcomes []seedOutcome
}

func (r *seedReport) add(o seedOutcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, o)
}

// String is the summary.
func (r *seedReport) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[string]int{}
	var failed []uint64
	var worst, slowest seedOutcome
	var wall time.Duration
	for _, o := range r.outcomes {
		for kind, n := range o.counts {
			counts[kind] += n
		}
		counts["rows run by the provider"] += o.rowsRun
		counts["rows run in cancelled batches"] += o.zombieRows
		counts["batches cancelled"] += o.cancelled
		counts["twins told of"] += o.twins
		counts["fences"] += o.fences
		if o.failed {
			failed = append(failed, o.seed)
		}
		if o.took > worst.took {
			worst = o
		}
		if o.wall > slowest.wall {
			slowest = o
		}
		wall += o.wall
	}
	slices.Sort(failed)
	var text strings.Builder
	fmt.Fprintf(&text, "%d seeds, violations in %d %v\n", len(r.outcomes), len(failed), failed)
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&text, "%8d  %s\n", counts[kind], kind)
	}
	fmt.Fprintf(&text, "to the end after the last fault: at most %s (seed %d)\n", worst.took.Round(time.Millisecond), worst.seed)
	fmt.Fprintf(&text, "wall time of a seed: %s on average, at most %s (seed %d)\n",
		(wall / time.Duration(max(len(r.outcomes), 1))).Round(time.Millisecond), slowest.wall.Round(time.Millisecond), slowest.seed)
	return text.String()
}

func countEvents(all []events.Event, kind events.Kind) (n int) {
	for _, e := range all {
		if e.Kind == kind {
			n++
		}
	}
	return n
}
