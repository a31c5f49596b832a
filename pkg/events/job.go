package events

import (
	"encoding/json"
	"fmt"
	"time"
)

// JobState is how far a job has come.
type JobState string

// The states of a job, in order.
const (
	JobOpen      JobState = "open"      // rows may still come, or are not all planned
	JobPlanned   JobState = "planned"   // sealed and fully planned: every row is in a batch or has its answer
	JobCompleted JobState = "completed" // every batch is settled: every row has its answer. Never left
)

// Job is the state of a job, key [JobKey]. It is changed by compare-and-set only.
type Job struct {
	Queue       string    `json:"queue"`
	Job         string    `json:"job"`
	State       JobState  `json:"state"`
	SinceAt     time.Time `json:"since_at"` // when State was entered
	OpenedAt    time.Time `json:"opened_at"`
	Description string    `json:"description,omitempty"`
	InputSHA256 string    `json:"input_sha256,omitempty"` // of the publisher's files, where our own tools published
	// Fixes names the job whose refused rows this one takes up, corrected or not.
	Fixes *JobRef `json:"fixes,omitempty"`
	// Retries names the job whose failed rows this one sends once more.
	Retries *JobRef `json:"retries,omitempty"`
	Policy  Policy  `json:"policy"`

	// Walked is up to where every block is planned: all its dead letters and rejected results are stored and, once State is
	// [JobPlanned], all its good rows are cut. It goes back
	// only when LostRows is counted.
	Walked Place `json:"walked"`
	// Groups are the (window, url, model) met so far; Cut is the place of the last row of each that is in a batch.
	Groups []Group `json:"groups,omitempty"`
	// Batches is the highest batch number given out by the planner; FollowUps counts the batches that took over rows of another.
	Batches   int `json:"batches"`
	FollowUps int `json:"follow_ups"`
	// Rows and Rejected count owners up to Walked: all of them, and those that are refused rows.
	Rows     int `json:"rows"`
	Rejected int `json:"rejected"`
	// CancelledRows counts owners that the planner ended as cancelled because they were not cut when the wish came.
	CancelledRows int `json:"cancelled_rows,omitempty"`
	// LostRows counts those of Rows whose blocks were gone from ROWS when a job held for that ([HoldRowsOlder]) was cancelled. What is in
	// a batch ends with it; of the others nobody knows their ids any more, so they have no result and are in no total.
	LostRows int `json:"lost_rows,omitempty"`

	ExpectedRows *int       `json:"expected_rows,omitempty"` // what the publisher said beside the seal
	SealedAt     *time.Time `json:"sealed_at,omitempty"`     // timestamp of the seal block
	SealSequence uint64     `json:"seal_sequence,omitempty"` // of the seal's message in BATCHBUS_REQUESTS
	CancelWanted *time.Time `json:"cancel_wanted,omitempty"`
	Hold         *Hold      `json:"hold,omitempty"`
	// Totals are recomputed from the batches when the job completes.
	Totals *Totals `json:"totals,omitempty"`
	// Spending is what batches of the job use; nil while none was sent under a limit. Allowed is what a person lets the job use in all.
	Spending *Spending  `json:"spending,omitempty"`
	Allowed  *Allowance `json:"allowed,omitempty"`
	// ForgottenAt is when somebody had rows, results, dead letters and objects of the completed job removed.
	ForgottenAt *time.Time `json:"forgotten_at,omitempty"`
}

// Place is a position in a job's rows: the sequence of a ROWS message and its timestamp, since sequences can come again after a restore.
type Place struct {
	Sequence uint64    `json:"sequence"`
	At       time.Time `json:"at"`
}

// RowPlace is the place of one row: its block's, and the index in the block from 0.
type RowPlace struct {
	Sequence uint64 `json:"sequence"`
	Index    int    `json:"index"`
}

// After reports whether p comes behind q in the order of ROWS.
func (p RowPlace) After(q RowPlace) bool {
	return p.Sequence > q.Sequence || p.Sequence == q.Sequence && p.Index > q.Index
}

// GroupKey is what rows of one batch have in common. Batches never mix these.
type GroupKey struct {
	Window string `json:"window"`
	URL    string `json:"url"`
	Model  string `json:"model"`
}

// Group is one (window, url, model) of a job, and how far it is cut.
type Group struct {
	GroupKey
	Cut RowPlace `json:"cut"` // the last row that is in a batch; zero when none is
}

// Hold is why something waits for a person. It is visible in the state, an event and a metric.
type Hold struct {
	Code    string    `json:"code"` // one of the Hold constants
	Message string    `json:"message"`
	At      time.Time `json:"at"`
}

// Totals count rows by outcome. Rows is their sum.
type Totals struct {
	Rows      int   `json:"rows"`
	Succeeded int   `json:"succeeded"`
	Failed    int   `json:"failed"`
	Expired   int   `json:"expired"`
	Cancelled int   `json:"cancelled"`
	Rejected  int   `json:"rejected"`
	Truncated int   `json:"truncated"` // of the succeeded
	Usage     Usage `json:"usage"`
	// Cost is the sum of the results' costs, in Currency: left out while no price is known.
	Cost     Money  `json:"cost,omitzero"`
	Currency string `json:"currency,omitempty"`
	// Basis is what the costs rest on, "price_table", or "simulated" where nothing was paid; [MixedCurrencies] for both.
	Basis string `json:"basis,omitempty"`
	// Billed, of a completed job, is the sum of what the provider said that it billed for its batches. It can be more than Cost, for an answer
	// that came behind another of its row is billed too; and less, where the provider did not say.
	Billed Money `json:"billed,omitzero"`
}

// Add adds other to t.
func (t *Totals) Add(other Totals) {
	t.Rows += other.Rows
	t.Succeeded += other.Succeeded
	t.Failed += other.Failed
	t.Expired += other.Expired
	t.Cancelled += other.Cancelled
	t.Rejected += other.Rejected
	t.Truncated += other.Truncated
	t.Usage.Add(other.Usage)
	t.Cost, t.Billed = t.Cost.Plus(other.Cost), t.Billed.Plus(other.Billed)
	t.Currency, t.Basis = bothCurrencies(t.Currency, other.Currency), bothCurrencies(t.Basis, other.Basis)
}

// Count adds one row of the given outcome.
func (t *Totals) Count(outcome Outcome, truncated bool, usage Usage) {
	one := Totals{Rows: 1, Usage: usage}
	switch outcome {
	case Succeeded:
		one.Succeeded = 1
		if truncated {
			one.Truncated = 1
		}
	case Failed:
		one.Failed = 1
	case Expired:
		one.Expired = 1
	case Cancelled:
		one.Cancelled = 1
	case Rejected:
		one.Rejected = 1
	}
	t.Add(one)
}

// Encode returns the JSON of j.
func (j *Job) Encode() []byte { return encode(j) }

// ParseJob reads a job's state.
func ParseJob(data []byte) (Job, error) {
	var j Job
	if err := json.Unmarshal(data, &j); err != nil {
		return Job{}, fmt.Errorf("parse job: %w", err)
	}
	return j, nil
}
