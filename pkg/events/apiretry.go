package events

import "encoding/json"

// APIJobsRetry is the endpoint that sends rows of a completed job once more, in a job of their own: [RetryJob] → [Retried].
const APIJobsRetry = "jobs-retry"

// Codes of errors about retries by hand.
const (
	APIRowsPurged  = "rows_purged"      // the job's rows are gone: their keep time is over, or the job was forgotten
	APINoSuchRows  = "no_rows_to_retry" // no row of the job is meant, or all of them are in other jobs that retry it
	APIJobConflict = "job_conflict"     // the wanted job is there, and was made of other rows
)

// RetryJob asks for rows of a completed job to be sent once more, in another job, which names this one in Retries. Their results in this one stay
// as they are. It may be asked again: the same request finds the job that it has made.
type RetryJob struct {
	JobRef
	// To is the name of the other job, in the same queue. Empty: the one that the same request has made before, or else the job's name with
	// -retry1, or the first number that is free.
	To string `json:"to,omitempty"`
	// Only are the codes of the errors of the rows that are meant, retryable or not. Empty: the rows that failed for a passing reason,
	// expired, or were cancelled while the job was not.
	Only []string `json:"only,omitempty"`
	// All means every row that failed, expired or was cancelled.
	All bool `json:"all,omitempty"`
	// Policy holds the fields of [Policy] that are to differ from the job's own.
	Policy json.RawMessage `json:"policy,omitempty"`
	// After and Rows are Next and Rows of the answer before, for a job whose rows do not fit into one.
	After uint64 `json:"after,omitempty"`
	Rows  int    `json:"rows,omitempty"`
}

// Retried says what became of a [RetryJob].
type Retried struct {
	Queue   string `json:"queue"`
	Job     string `json:"job"` // the other job
	Retries JobRef `json:"retries"`
	Rows    int    `json:"rows"`               // in the other job so far
	LeftOut int    `json:"left_out,omitempty"` // rows that other jobs which retry this one hold already, in this answer
	// Next is what to go on After; 0: all rows are there, and the job is sealed.
	Next uint64 `json:"next,omitempty"`
}
