package events

// GetBatch asks for a batch.
type GetBatch struct {
	JobRef
	N string `json:"n"` // its number: "1", or "5-1"
}

// ListBatches asks for batches, those that changed longest ago first: at most Limit, behind the place After, which is a list's Next.
type ListBatches struct {
	Queue string     `json:"queue,omitempty"` // empty: all queues, or that of Job
	Job   string     `json:"job,omitempty"`   // empty: all jobs
	State BatchState `json:"state,omitempty"` // empty: all states
	Held  bool       `json:"held,omitempty"`  // only those that wait for a person, or for their queue
	After uint64     `json:"after,omitempty"`
	Limit int        `json:"limit,omitempty"` // 0: as many as fit into one answer
}

// BatchList is one page of batches. Next is what to go on After, 0 when there is no more; a page may be short, or empty, and have one all the same.
// A batch that changes while the list is read can come twice, the second time as it is then.
type BatchList struct {
	Batches []Batch `json:"batches"`
	Next    uint64  `json:"next,omitempty"`
}
