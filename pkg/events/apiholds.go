package events

// EndHold asks for the hold of one batch to be ended.
type EndHold struct {
	JobRef
	N string `json:"n"` // the batch's number
	// ProviderBatchID names the provider's batch to adopt, or one more to abandon than those that a listing shows. Adopt without it takes the
	// only one there is. Resume takes none.
	ProviderBatchID string `json:"provider_batch_id,omitempty"`
}

// ResumeJobs asks for the holds of a job and of its batches to be ended; without a job, for those of the queue, its jobs and
// batches.
type ResumeJobs struct {
	JobRef
	// Code is the code of the holds that are meant. Empty: all of a job and its batches; without a job, all of the queue itself, and those of
	// [HoldCredit] of its jobs and batches.
	Code string `json:"code,omitempty"`
	// Allow lets the job use so much in all, whatever the limits of it, its queue and its day say: what they hold goes on where that is enough.
	Allow *Allowance `json:"allow,omitempty"`
}

// Resumed says what became of the holds that were found: at most 100 that ended and 1000 that did not. More: there are others, ask again.
type Resumed struct {
	Holds []ResumedHold `json:"holds"`
	More  bool          `json:"more,omitempty"`
}

// ResumedHold is one hold. Ended: its queue, job or batch goes on, or the submitter has been asked to see to it. Otherwise Why says how it ends.
type ResumedHold struct {
	Queue string `json:"queue"`
	Key   string `json:"key,omitempty"`   // of a queue's hold: the API key whose batches wait; empty: all of them
	Job   string `json:"job"`             // empty: the queue itself
	Batch string `json:"batch,omitempty"` // empty: the job itself
	Code  string `json:"code"`
	Ended bool   `json:"ended"`
	Why   string `json:"why,omitempty"`
}
