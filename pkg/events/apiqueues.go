package events

import (
	"encoding/json"
	"time"
)

// Endpoints of the control API about queues.
const (
	APIQueuesGet  = "queues-get"  // [GetQueue] → [QueueStatus]
	APIQueuesPut  = "queues-put"  // [PutQueue] → [QueueStatus]
	APIQueuesList = "queues-list" // [ListQueues] → [QueueList]

	APIQueuesPause  = "queues-pause"  // [PauseQueue] → [QueueStatus]
	APIQueuesResume = "queues-resume" // [GetQueue] → [QueueStatus]
)

// Codes of errors about queues.
const (
	APIQueueChanged = "queue_changed" // the queue's record is not of the revision that the request names
	APIBadPolicy    = "bad_policy"    // the queue's record, which another tool wrote, cannot be obeyed: no job opens until it is put right
)

// GetQueue asks for the policy of a queue. There need not be a record of it.
type GetQueue struct {
	Queue string `json:"queue,omitempty"` // empty: [DefaultQueue]
}

// PutQueue asks for a queue's record to be replaced.
type PutQueue struct {
	Queue string `json:"queue,omitempty"` // empty: [DefaultQueue]
	// Policy holds the fields of [Policy] that are to differ from the default, those of "retry" one by one: {} is the default policy, and
	// leaves no record. Jobs that are open keep the policy they opened with.
	Policy json.RawMessage `json:"policy"`
	// Revision is that of the record to be replaced, 0 when there never was one; nil: whichever there is.
	Revision *uint64 `json:"revision,omitempty"`
}

// PauseQueue asks for nothing more of a queue to be sent to the provider, until it is resumed. What runs there goes on.
type PauseQueue struct {
	Queue   string `json:"queue,omitempty"`   // empty: [DefaultQueue]
	Message string `json:"message,omitempty"` // why, for people
}

// QueueStatus is a queue's policy, and what holds it.
type QueueStatus struct {
	Queue  string `json:"queue"`
	Policy Policy `json:"policy"` // what a job that opens now works under
	// Record are the fields that differ from the default; nil when the queue has no record.
	Record json.RawMessage `json:"record,omitempty"`
	// Lingers are the lengths of rolling windows that the queue had, and is to have, each from its time on.
	Lingers []Linger `json:"lingers,omitempty"`
	// Holds are what keeps batches of the queue from being sent, a pause among them.
	Holds []QueueHold `json:"holds,omitempty"`
	// Fault is what is wrong with the record. Policy is the default then, and no job opens.
	Fault     string     `json:"fault,omitempty"`
	Revision  uint64     `json:"revision,omitempty"`   // of the record, or of its removal
	ChangedAt *time.Time `json:"changed_at,omitempty"` // when there is a record
}

// ListQueues asks for the queues that have a record, those that changed longest ago first: at most Limit, behind the place After, which is a
// list's Next.
type ListQueues struct {
	After uint64 `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"` // 0: as many as fit into one answer
}

// QueueList is one page of queues. Next is what to go on After, 0 when there is no more. A queue that changes while the list is read can come
// twice, the second time as it is then.
type QueueList struct {
	Queues []QueueStatus `json:"queues"`
	Next   uint64        `json:"next,omitempty"`
}
