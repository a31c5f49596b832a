package requeue

import (
	"strconv"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
)

// Link is why one job names another.
type Link struct {
	word string // of the default names
	of   func(*events.Job) *events.JobRef
}

// Fixes is the link of a job that takes up what another one refused.
func Fixes() Link { return Link{"fix", func(j *events.Job) *events.JobRef { return j.Fixes }} }

// Retries is the link of a job that sends rows once more which failed in another.
func Retries() Link { return Link{"retry", func(j *events.Job) *events.JobRef { return j.Retries }} }

// Of is the job that j names; nil: none.
func (l Link) Of(j *events.Job) *events.JobRef { return l.of(j) }

// Base is what the names of a job's linked jobs begin with: "nightly" for nightly, and for nightly-fix2 when that is itself a linked one.
// Names of rolling jobs, and the stand-in for none, may not be published to: their linked jobs begin with "rolling-" and "unnamed".
func (l Link) Base(job string, linked bool) string {
	if linked {
		job = l.strip(job)
	}
	if rest, rolling := strings.CutPrefix(job, events.RollingPrefix); rolling {
		return "rolling-" + rest
	}
	if job == Nobody {
		return "unnamed"
	}
	return job
}

// strip takes the end of a default name off, as [Link.Name] makes it.
func (l Link) strip(job string) string {
	at := strings.LastIndex(job, "-"+l.word)
	if at < 0 {
		return job
	}
	n, err := strconv.Atoi(job[at+1+len(l.word):])
	if err != nil || n < 1 || job[at:] != l.suffix(n) {
		return job
	}
	return job[:at]
}

func (l Link) suffix(n int) string { return "-" + l.word + strconv.Itoa(n) }

// Name is the default name of the n-th linked job, from 1: nightly-fix1. A base too long for it is cut.
func (l Link) Name(base string, n int) string {
	suffix := l.suffix(n)
	return base[:min(len(base), events.MaxNameBytes-len(suffix))] + suffix
}
