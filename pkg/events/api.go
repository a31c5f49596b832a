package events

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// APIService is the name of the control API among the micro services of NATS.
const APIService = "batchbus"

// PrefixAPI begins the subjects of the control API's endpoints: jobs-open is asked on batchbus.api.jobs.open.
const PrefixAPI = "batchbus.api."

// Endpoints of the control API. Each takes and answers one JSON object.
const (
	APIJobsOpen   = "jobs-open"   // [OpenJob] → [JobStatus]
	APIJobsSeal   = "jobs-seal"   // [SealJob] → [JobStatus]
	APIJobsGet    = "jobs-get"    // [GetJob] → [JobStatus]
	APIJobsList   = "jobs-list"   // [ListJobs] → [JobList]
	APIJobsCancel = "jobs-cancel" // [JobRef] → [JobStatus]
	APIJobsForget = "jobs-forget" // [JobRef] → [Forgotten]
	APIJobsResume = "jobs-resume" // [ResumeJobs] → [Resumed]

	APIBatchesGet     = "batches-get"     // [GetBatch] → [Batch]
	APIBatchesList    = "batches-list"    // [ListBatches] → [BatchList]
	APIBatchesAdopt   = "batches-adopt"   // [EndHold] → [Batch]
	APIBatchesAbandon = "batches-abandon" // [EndHold] → [Batch]
	APIBatchesResume  = "batches-resume"  // [EndHold] → [Batch]
)

// Codes of the control API's errors, in the header Nats-Service-Error-Code and in [APIError].
const (
	APIBadRequest   = "bad_request"      // the request cannot be read, or asks for something that cannot be
	APIUnknownJob   = "unknown_job"      // there is no such job, and no such provider batch
	APIConflict     = "options_conflict" // the job is open with other options
	APINotSettled   = "not_settled"      // the job must be settled first
	APIBusFull      = "bus_full"         // the rows stream is nearly full: no new jobs are opened
	APIUnknownBatch = "unknown_batch"    // the job has no such batch
	APINotHeld      = "not_held"         // nothing is held there
	APIOtherEnd     = "other_end"        // this hold does not end in this way; the message says how it does
	APIUnavailable  = "unavailable"      // the bus did not answer in time: done or not done, ask again
)

// APIError is the body of an answer that is an error.
type APIError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error is the message and, behind it, the code.
func (e *APIError) Error() string { return e.Message + " (" + e.Code + ")" }

// JobRef names a job.
type JobRef struct {
	Queue string `json:"queue,omitempty"` // empty: [DefaultQueue]
	Job   string `json:"job"`             // its name, or the provider's id of one of its batches, whatever its queue
}

// OpenJob asks for a job to be opened. What is left out is as the queue's policy says.
type OpenJob struct {
	JobRef
	Window       string `json:"window,omitempty"`
	DefaultModel string `json:"default_model,omitempty"` // for rows that name none
	Description  string `json:"description,omitempty"`
	InputSHA256  string `json:"input_sha256,omitempty"` // hex, of the publisher's files
	// Fixes names the job whose refused rows this one is to take up.
	Fixes *JobRef `json:"fixes,omitempty"`
	// Policy holds the fields of [Policy] that are to differ from the queue's. Window and DefaultModel are the same as fields in it.
	Policy json.RawMessage `json:"policy,omitempty"`
}

// SealJob asks for a job to be sealed. ExpectedRows is how many rows were published, nil when that is not said.
type SealJob struct {
	JobRef
	ExpectedRows *int `json:"expected_rows,omitempty"`
}

// GetJob asks for a job and its batches: at most Limit of them, which come behind the batch with the number After.
type GetJob struct {
	JobRef
	After string `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"` // 0: as many as fit into one answer
}

// ListJobs asks for jobs, those that changed longest ago first: at most Limit, behind the place After, which is a list's Next.
type ListJobs struct {
	Queue string `json:"queue,omitempty"` // empty: all queues
	After uint64 `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"` // 0: as many as fit into one answer
}

// JobStatus is a job as the control API tells of it.
type JobStatus struct {
	Queue          string     `json:"queue"`
	Job            string     `json:"job"`
	State          JobState   `json:"state"`
	SinceAt        time.Time  `json:"since_at"`
	OpenedAt       time.Time  `json:"opened_at"`
	SealedAt       *time.Time `json:"sealed_at,omitempty"`
	CancelWantedAt *time.Time `json:"cancel_wanted_at,omitempty"`
	ForgottenAt    *time.Time `json:"forgotten_at,omitempty"`
	Description    string     `json:"description,omitempty"`
	InputSHA256    string     `json:"input_sha256,omitempty"`
	Fixes          *JobRef    `json:"fixes,omitempty"`
	Retries        *JobRef    `json:"retries,omitempty"`
	Policy         Policy     `json:"policy"`
	Hold           *Hold      `json:"hold,omitempty"`
	// Spending is what batches of the job use under a limit, and Allowed what a person lets it use in all.
	Spending *Spending  `json:"spending,omitempty"`
	Allowed  *Allowance `json:"allowed,omitempty"`
	// QueueHolds are the holds of the queue that keep batches of this job from being sent.
	QueueHolds   []QueueHold `json:"queue_holds,omitempty"`
	Rows         int         `json:"rows"` // planned or refused so far
	ExpectedRows *int        `json:"expected_rows,omitempty"`
	// Totals count the rows that have their answer: in the end all of them. A list has them of completed jobs only.
	Totals *Totals `json:"totals,omitempty"`
	// Batches are in order of their numbers. More says that there are others behind the last one. A list has none.
	Batches []Batch `json:"batches,omitempty"`
	More    bool    `json:"more,omitempty"`
}

// JobList is one page of jobs. Next is what to go on After, 0 when there is no more. A job that changes while its list is read can come
// twice, the second time as it is then.
type JobList struct {
	Jobs []JobStatus `json:"jobs"`
	Next uint64      `json:"next,omitempty"`
}

// Forgotten says what became of a job that was forgotten: nothing of its rows and answers is on the bus. What batchbus does not delete is at
// the provider.
type Forgotten struct {
	Queue   string        `json:"queue"`
	Job     string        `json:"job"`
	Objects int           `json:"objects"` // deleted now, manifests among them
	Remains []RemoteBatch `json:"remains"`
}

// RemoteBatch names what the provider has of a batch. It may have deleted some of it by itself.
type RemoteBatch struct {
	N               string `json:"n"`
	ProviderBatchID string `json:"provider_batch_id,omitempty"`
	InputFileID     string `json:"input_file_id,omitempty"`
	OutputFileID    string `json:"output_file_id,omitempty"`
	ErrorFileID     string `json:"error_file_id,omitempty"`
}

// APIPayload is what an endpoint takes or answers.
type APIPayload interface {
	OpenJob | SealJob | GetJob | ListJobs | JobRef | JobStatus | JobList | Forgotten | APIError | ResumeJobs | Resumed | EndHold | Batch |
		GetQueue | PutQueue | ListQueues | QueueStatus | QueueList | RetryJob | Retried |
		PauseQueue | GetBatch | ListBatches | BatchList | AskEstimate | Estimated
}

// EncodeAPI returns the JSON of v.
func EncodeAPI[T APIPayload](v T) []byte { return encode(v) }

// ParseAPI reads a payload of the control API.
func ParseAPI[T APIPayload](data []byte) (T, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("parse %T: %w", v, err)
	}
	return v, nil
}

// APISubject is the subject of an endpoint: its name behind [PrefixAPI], with a dot for the dash.
func APISubject(endpoint string) string { return PrefixAPI + strings.ReplaceAll(endpoint, "-", ".") }
