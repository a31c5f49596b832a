package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/batchbus/batchbus/pkg/events"
)

// MaxProblems is how many problems a report holds; its ProblemCount counts all.
const MaxProblems = 1000

// Verdict is what an audit comes to.
type Verdict string

// The verdicts.
const (
	Proven       Verdict = "proven"       // everything adds up and nothing is open
	Open         Verdict = "open"         // nothing contradicts, and something is still to come: see Report.Open
	Contradicted Verdict = "contradicted" // something does not add up: see Report.Problems
)

// Basis is what there was to judge by.
type Basis string

// The bases, the strongest first.
const (
	ByRows   Basis = "rows"   // row by row
	ByTotals Basis = "totals" // the rows are purged: results are counted
	ByStates Basis = "states" // results are gone too: the states are compared with each other
)

// What can be wrong.
const (
	MissingResult     = "missing_result"      // the row must have a result by now and has none
	ForeignResult     = "foreign_result"      // a result for a row that the job does not have
	ForeignSource     = "foreign_source"      // the result answers another input than the one that owns the custom_id
	DoubleResult      = "double_result"       // two results for one row
	WrongOutcome      = "wrong_outcome"       // a refused row that is not rejected, or a result whose parts disagree
	MissingDeadLetter = "missing_dead_letter" // a row that came second or late has none
	DoubleEnd         = "double_end"          // a row with a result has a dead letter too
	NotPlanned        = "row_not_planned"     // a good row of a planned job is in no batch
	PlannedTwice      = "row_planned_twice"   // a row is in two batches of which none took it over from the other
	ForeignRow        = "foreign_row"         // a manifest names what is no good row of the job, or none of the batch that it follows up
	ManifestUnread    = "manifest_unreadable" // a manifest is gone, or not the one that the batch means
	BatchMissing      = "batch_missing"       // the state names a batch that is not there, or the other way round
	BatchTotals       = "batch_totals"        // an ended batch does not account for each of its rows
	JobTotals         = "job_totals"          // the job's totals are not what the streams hold
	JobRows           = "job_rows"            // the job's counts of rows are not what the streams hold
	RowsUnaccounted   = "rows_unaccounted"    // fewer rows and dead letters than the publisher said that he published
	RowsMissing       = "rows_missing"        // blocks that the state names are not in the stream as they were
	SealMissing       = "seal_missing"        // a planned job has no seal in its rows
	PaidTwice         = "paid_twice"          // two remote batches of one planned batch are live or have completed rows
	OrphanBatch       = "orphan_batch"        // a remote batch that no state names
	RemoteMissing     = "remote_missing"      // the provider does not list a batch that it accepted
	OtherDigest       = "other_digest"        // a remote batch of a planned batch's path holds other rows
)

// Problem is one thing that does not add up.
type Problem struct {
	Code     string `json:"code"`
	CustomID string `json:"custom_id,omitempty"` // when it is about one row, and its block is still there
	Batch    string `json:"batch,omitempty"`
	// Place is where the row stands in BATCHBUS_ROWS: sequence and index in the block.
	Place   *events.RowPlace `json:"place,omitempty"`
	Message string           `json:"message"`
}

func (p *Problem) at() events.RowPlace {
	if p.Place == nil {
		return events.RowPlace{}
	}
	return *p.Place
}

// Report is the outcome of an audit.
type Report struct {
	Queue   string          `json:"queue"`
	Job     string          `json:"job"`
	State   events.JobState `json:"state"`
	Verdict Verdict         `json:"verdict"`
	Basis   Basis           `json:"basis"`
	Why     string          `json:"why,omitempty"` // why not by rows

	RowsIn      int            `json:"rows_in"`      // judged rows in BATCHBUS_ROWS, redeliveries included
	Owners      int            `json:"owners"`       // rows that get a result
	Refused     int            `json:"refused"`      // of them, those refused before a batch
	Sealed      bool           `json:"sealed"`       // a seal stands in the rows
	Results     events.Totals  `json:"results"`      // in BATCHBUS_RESULTS
	DeadLetters map[string]int `json:"dead_letters"` // in BATCHBUS_DEADLETTERS, by code
	Batches     int            `json:"batches"`
	Remote      *Remote        `json:"remote,omitempty"` // when the provider was asked

	Open         []string  `json:"open,omitempty"` // what is still to come
	ProblemCount int       `json:"problem_count"`
	Problems     []Problem `json:"problems,omitempty"` // the first [MaxProblems]
}

// Remote is what the provider's own list says of a job.
type Remote struct {
	Batches int           `json:"batches"` // whatever became of them
	Live    int           `json:"live"`    // they may still start rows
	Ran     int           `json:"ran"`     // they have completed or failed rows
	Counts  events.Counts `json:"counts"`
	// Abandoned are those that a person gave up: what they ran is paid, and used only where the results say so.
	Abandoned int `json:"abandoned,omitempty"`
}

// problem notes one; the text is formatted only while there is room.
func (r *Report) problem(p Problem, format string, args ...any) {
	r.ProblemCount++
	if len(r.Problems) < MaxProblems {
		p.Message = fmt.Sprintf(format, args...)
		r.Problems = append(r.Problems, p)
	}
}

// open notes n things that are still to come.
func (r *Report) open(n int, what string) {
	if n > 0 {
		r.Open = append(r.Open, fmt.Sprintf("%d %s", n, what))
	}
}

// conclude sets the verdict, and puts the problems in order: what is about no row first, then in the order of the rows.
func (r *Report) conclude() {
	slices.SortStableFunc(r.Problems, func(a, b Problem) int {
		x, y := a.at(), b.at()
		return cmp.Or(cmp.Compare(x.Sequence, y.Sequence), cmp.Compare(x.Index, y.Index))
	})
	switch {
	case r.ProblemCount > 0:
		r.Verdict = Contradicted
	case len(r.Open) > 0:
		r.Verdict = Open
	default:
		r.Verdict = Proven
	}
}
