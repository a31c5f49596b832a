package events

import (
	"strconv"
	"strings"
	"time"
)

// rollingLayout is the time in the name of a rolling job: a token, and sorted by time.
const rollingLayout = "20060102T150405Z"

// Rolling is the half-open span [Start, End) of one rolling job.
type Rolling struct{ Start, End time.Time }

// RollingAt is the span that a time falls into. Spans are aligned to the Unix epoch, so everybody who asks comes to the same one. A linger below
// a second counts as one.
func RollingAt(at time.Time, linger time.Duration) Rolling {
	seconds := max(int64(linger/time.Second), 1)
	start := at.Unix() - at.Unix()%seconds
	return Rolling{time.Unix(start, 0).UTC(), time.Unix(start+seconds, 0).UTC()}
}

// Job is the name of the span's rolling job: auto-20261130T021100Z-60.
func (r Rolling) Job() string {
	seconds := int64(r.End.Sub(r.Start) / time.Second)
	return RollingPrefix + r.Start.Format(rollingLayout) + "-" + strconv.FormatInt(seconds, 10)
}

// ParseRolling is the strict inverse of [Rolling.Job].
func ParseRolling(job string) (Rolling, bool) {
	rest, rolling := strings.CutPrefix(job, RollingPrefix)
	text, linger, found := strings.Cut(rest, "-")
	start, err := time.Parse(rollingLayout, text)
	seconds, lingerErr := strconv.ParseInt(linger, 10, 32)
	if !rolling || !found || err != nil || lingerErr != nil || seconds < 1 {
		return Rolling{}, false
	}
	r := RollingAt(start, time.Duration(seconds)*time.Second)
	return r, r.Job() == job
}

// Linger is a length of a queue's rolling windows, and the time by the bus' clock from which it holds until the next one does.
type Linger struct {
	Seconds int       `json:"seconds"` // 0: that of the services themselves, ingest's --linger
	From    time.Time `json:"from"`
}
