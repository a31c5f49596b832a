package chaos_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/test/rig"
)

// The invariants, as a violation names them.
const (
	conservation = "conservation" // rows published = results + dead letters, each with the outcome that is due
	oneResult    = "one result"   // one message per result subject, one result per custom_id of a job
	paidOnce     = "paid once"    // at most one live remote batch per planned batch
	rowsRun      = "rows run"     // the provider ran each row that reached it once, zombies apart
	totals       = "totals"       // the job's state says what the stream holds
	audited      = "audit"        // batchbus audit finds nothing
	quiet        = "quiet"        // nothing held, nothing left, no service ended but by its failpoint
)

// violation is one broken invariant.
type violation struct{ invariant, detail string }

func (v violation) String() string { return v.invariant + ": " + v.detail }

// due is what must have become of a job's rows.
type due struct {
	job       string         // empty: rows without a job, of which there may be several rolling ones
	published int            // rows, seals not counted
	outcomes  map[string]int // results by outcome; nil: any that account for all rows
	letters   map[string]int // dead letters by code; nil: any
	// forgotten: results and dead letters were deleted at the user's wish, and the job's own totals are all there is.
	forgotten bool
}

// fixed tells whether the scenario says what becomes of the rows.
func (d due) fixed() bool { return d.outcomes != nil }

// expectation is what a run must come to.
type expectation struct {
	dues    []due         // every job but the rolling ones, and one due for all of those
	allowed []events.Kind // of the alarms, those that the run provokes
	// strangers: the run itself makes batches at the provider that batchbus has no part in.
	strangers bool
}

// alarms are the events that ask a person to look.
func alarms() []events.Kind {
	return []events.Kind{
		events.QueueHeld, events.JobHeld, events.BatchHeld, events.BatchNeedsAttention, events.BatchTwin, events.BatchOrphan, events.BatchOrphanResult,
	}
}

// judge returns what the run has broken.
func judge(l *rig.Left, want expectation) []violation {
	return slices.Concat(judgeRows(l, want.dues), judgeResults(l), judgePaid(l), judgeTotals(l, want.dues), judgeQuiet(l, want.allowed))
}

// rolling tells whether a job is one of rows that were published without a job.
func rolling(job string) bool { return strings.HasPrefix(job, "auto-") }

// judgeRows is conservation.
func judgeRows(l *rig.Left, dues []due) (broken []violation) {
	for _, d := range dues {
		if d.forgotten {
			continue
		}
		mine := func(e rig.Ending) bool { return e.Job == d.job || d.job == "" && rolling(e.Job) }
		outcomes, letters := words(l.Results, mine), words(l.DeadLetters, mine)
		if n := sum(outcomes) + sum(letters); n != d.published {
			broken = append(broken, violation{conservation, fmt.Sprintf("job %q: %d rows published, %d results %v and %d dead letters %v",
				d.job, d.published, sum(outcomes), outcomes, sum(letters), letters)})
		}
		if d.fixed() && (!maps.Equal(outcomes, d.outcomes) || !maps.Equal(letters, orEmpty(d.letters))) {
			broken = append(broken, violation{conservation, fmt.Sprintf("job %q: results %v and dead letters %v, want %v and %v",
				d.job, outcomes, letters, d.outcomes, orEmpty(d.letters))})
		}
	}
	return broken
}

// judgeResults is one result.
func judgeResults(l *rig.Left) (broken []violation) {
	subjects, rows := map[string]int{}, map[string]int{}
	for _, r := range l.Results {
		subjects[r.Subject]++
		rows[r.Job+" "+r.CustomID]++
	}
	for _, seen := range []map[string]int{subjects, rows} {
		for _, what := range slices.Sorted(maps.Keys(seen)) {
			if n := seen[what]; n != 1 {
				broken = append(broken, violation{oneResult, fmt.Sprintf("%s has %d", what, n)})
			}
		}
	}
	return broken
}

// judgeTotals compares each completed job's state with the stream.
func judgeTotals(l *rig.Left, dues []due) (broken []violation) {
	for _, j := range l.Jobs {
		if slices.ContainsFunc(dues, func(d due) bool { return d.forgotten && d.job == j.Job }) {
			continue
		}
		got := words(l.Results, func(e rig.Ending) bool { return e.Job == j.Job })
		want := map[string]int{}
		if j.Totals != nil {
			want = byOutcome(j.Totals)
		}
		if j.State != events.JobCompleted || !maps.Equal(got, want) || sum(got) != j.Rows {
			broken = append(broken, violation{totals, fmt.Sprintf("job %s is %s with %d rows and totals %v; the stream holds %v",
				j.Job, j.State, j.Rows, want, got)})
		}
	}
	return broken
}

func byOutcome(t *events.Totals) map[string]int {
	counts := map[string]int{}
	for outcome, n := range map[events.Outcome]int{
		events.Succeeded: t.Succeeded, events.Failed: t.Failed, events.Expired: t.Expired, events.Cancelled: t.Cancelled,
		events.Rejected: t.Rejected,
	} {
		if n > 0 {
			counts[string(outcome)] = n
		}
	}
	return counts
}

// judgeQuiet looks for what is left over, and for what a person would have to look at.
func judgeQuiet(l *rig.Left, allowed []events.Kind) (broken []violation) {
	for _, e := range l.Events {
		if slices.Contains(alarms(), e.Kind) && !slices.Contains(allowed, e.Kind) {
			broken = append(broken, violation{quiet, fmt.Sprintf("event %s of %s %s: %s", e.Kind, e.Job, e.Batch, e.Note)})
		}
	}
	for _, j := range l.Jobs {
		if j.Hold != nil {
			broken = append(broken, violation{quiet, fmt.Sprintf("job %s is held: %s", j.Job, j.Hold.Code)})
		}
	}
	for _, b := range l.Batches {
		if b.Hold != nil || !b.State.Ended() {
			broken = append(broken, violation{quiet, fmt.Sprintf("batch %s of %s is %s, why %q, hold %+v", b.N, b.Job, b.State, b.Why, b.Hold)})
		}
	}
	for what, n := range l.Waiting {
		broken = append(broken, violation{quiet, fmt.Sprintf("%d %s", n, what)})
	}
	return broken
}

// words counts endings by their word.
func words(endings []rig.Ending, mine func(rig.Ending) bool) map[string]int {
	counts := map[string]int{}
	for _, e := range endings {
		if mine(e) {
			counts[e.Word]++
		}
	}
	return counts
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func orEmpty(m map[string]int) map[string]int {
	if m == nil {
		return map[string]int{}
	}
	return m
}
