package ingest

import (
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// maxAhead is how far in the future the rolling job may begin that a message names: more than clocks differ, and not so far that the job would
// never be sealed.
const maxAhead = time.Hour

// rollingOf is the rolling job that the rows of a message belong to by its header, in place of that of its timestamp. A publisher that names one
// may publish the row again at any time: it is the same row of the same job, or comes behind that job's seal. Empty: the timestamp's.
func rollingOf(target string, at time.Time) (job string, why *refusal) {
	if target == "" {
		return "", nil
	}
	window, rolling := events.ParseRolling(target)
	if !rolling || window.Start.After(at.Add(maxAhead)) {
		return "", &refusal{
			events.DLBadSubject, "the header " + events.HeaderJob + " names no rolling job that could be open",
			"leave it out: the rows then belong to the rolling job of the message's time",
		}
	}
	return target, nil
}
