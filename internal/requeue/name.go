package requeue

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
)

// Nobody stands for a queue or job that a refused message did not name (see ingest).
const Nobody = "_"

var fixed = regexp.MustCompile(`-fix[1-9][0-9]*$`)

// Base is what the names of a job's linked jobs begin with: "nightly" for nightly, and for nightly-fix2 when that is itself a linked one.
// Names of rolling jobs, and the stand-in for none, may not be published to: their linked jobs begin with "rolling-" and "unnamed".
func Base(job string, linked bool) string {
	if linked {
		job = fixed.ReplaceAllString(job, "")
	}
	if rest, rolling := strings.CutPrefix(job, events.RollingPrefix); rolling {
		return "rolling-" + rest
	}
	if job == Nobody {
		return "unnamed"
	}
	return job
}

// Name is the default name of the n-th linked job, from 1: nightly-fix1. A base too long for it is cut.
func Name(base string, n int) string {
	suffix := "-fix" + strconv.Itoa(n)
	return base[:min(len(base), events.MaxNameBytes-len(suffix))] + suffix
}

// Queue is where a linked job goes: the old one's queue, or the default one for a message that named none.
func Queue(queue string) string {
	if queue == Nobody {
		return events.DefaultQueue
	}
	return queue
}
