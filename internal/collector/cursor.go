package collector

import "github.com/batchbus/batchbus/pkg/events"

// reading is what came of one read of a file.
type reading struct {
	skip     int    // lines that the provider was asked to leave out
	received int    // complete lines that came
	repeats  int    // of them, lines of places that were answered before
	again    bool   // the first line was one of those
	first    string // the first line's wire id
	short    bool   // fewer lines came than the provider promised, or the last was cut
}

// lines is how many lines of the file, from its start, are done after the read. A provider that ignores skip sends the file from its
// start: then the first line, and most of those that were to be skipped, are repeats. A row that surfaced behind the cursor makes the
// first line a repeat too, but only as many lines as there are such rows. Too low a number costs another download, too high a one is
// made good when the batch ends. It is pure.
func (r reading) lines() int {
	if r.again && 2*r.repeats >= r.skip {
		return r.received
	}
	return r.skip + r.received
}

// tally is what one row adds to the totals.
type tally struct {
	outcome events.Outcome
	totals  events.Totals
}

func tallyOf(r *events.Result) tally {
	t := tally{outcome: r.Outcome}
	t.totals.CountResult(r)
	return t
}
