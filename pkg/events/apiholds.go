package events

// EndHold asks for the hold of one batch to be ended.
type EndHold struct {
	JobRef
	N string `json:"n"` // the batch's number
	// ProviderBatchID names the provider's batch to adopt, or one more to abandon than those that a listing shows. Adopt without it takes the
	// only one there is. Resume takes none.
	ProviderBatchID string `json:"provider_batch_id,omitempty"`
}

// ResumeJobs asks for the holds of a job and of its batches to be ended; without a job, for those of all batches of the queue.
type ResumeJobs struct {
	JobRef
	// Code is the code of the holds that are meant. Empty: all of a job, and those of [HoldCredit] of a queue.
	Code string `json:"code,omitempty"`
	// After is the last place of the answer before, to go on behind it.
	After string `json:"after,omitempty"`
}

// Resumed says what became of the holds that were found. After is where to go on when there are more of them.
type Resumed struct {
	Holds []ResumedHold `json:"holds"`
	After string        `json:"after,omitempty"`
}

// ResumedHold is one hold. Ended: its job or batch goes on; one that is to do so by the submitter's doing has a wish by now. Otherwise Why
// says how it ends.
type ResumedHold struct {
	Queue string `json:"queue"`
	Job   string `json:"job"`
	Batch string `json:"batch,omitempty"` // empty: the job itself
	Code  string `json:"code"`
	Ended bool   `json:"ended"`
	Why   string `json:"why,omitempty"`
}
