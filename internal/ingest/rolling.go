package ingest

import (
	"strconv"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// windowLayout is the time in the name of a rolling job: a token, and sorted by time.
const windowLayout = "20060102T150405Z"

// timeWindow is the half-open span [start, end) of one rolling job.
type timeWindow struct{ start, end time.Time }

// windowAt is the window that a stream timestamp falls into. Windows are aligned to the Unix epoch, so every replica, and every
// delivery of one message, comes to the same one. A linger below a second counts as one.
func windowAt(at time.Time, linger time.Duration) timeWindow {
	seconds := max(int64(linger/time.Second), 1)
	start := at.Unix() - at.Unix()%seconds
	return timeWindow{time.Unix(start, 0).UTC(), time.Unix(start+seconds, 0).UTC()}
}

// job is the name of the window's rolling job: auto-20261130T021100Z-60.
func (w timeWindow) job() string {
	seconds := int64(w.end.Sub(w.start) / time.Second)
	return events.RollingPrefix + w.start.Format(windowLayout) + "-" + strconv.FormatInt(seconds, 10)
}

// parseWindow is the strict inverse of [timeWindow.job].
func parseWindow(job string) (timeWindow, bool) {
	rest, rolling := strings.CutPrefix(job, events.RollingPrefix)
	text, linger, found := strings.Cut(rest, "-")
	start, err := time.Parse(windowLayout, text)
	seconds, lingerErr := strconv.ParseInt(linger, 10, 32)
	if !rolling || !found || err != nil || lingerErr != nil || seconds < 1 {
		return timeWindow{}, false
	}
	w := windowAt(start, time.Duration(seconds)*time.Second)
	return w, w.job() == job
}
