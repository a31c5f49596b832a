package events

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Kind is the noun and verb of an event, as in its subject.
type Kind string

// The events. Each is published in the same atomic publish as the change that it tells of.
const (
	JobOpened       Kind = "job.opened"
	JobHeld         Kind = "job.held"
	JobResumed      Kind = "job.resumed"
	JobCancelling   Kind = "job.cancelling"
	JobFullyPlanned Kind = "job.planned"
	JobDone         Kind = "job.completed"
	JobForgotten    Kind = "job.forgotten"

	QueueHeld    Kind = "queue.held"
	QueueResumed Kind = "queue.resumed"

	BatchIsPlanned      Kind = "batch.planned"
	BatchIsUploaded     Kind = "batch.uploaded"
	BatchIsCreating     Kind = "batch.creating"
	BatchIsFencing      Kind = "batch.fencing"
	BatchIsSubmitted    Kind = "batch.submitted"
	BatchProgress       Kind = "batch.progress"
	BatchIsFinished     Kind = "batch.finished"
	BatchIsSettled      Kind = "batch.settled"
	BatchIsRefused      Kind = "batch.refused"
	BatchIsCancelled    Kind = "batch.cancelled"
	BatchHeld           Kind = "batch.held"
	BatchResumed        Kind = "batch.resumed"
	BatchAdopting       Kind = "batch.adopting"
	BatchAbandoning     Kind = "batch.abandoning"
	BatchOverdue        Kind = "batch.overdue"
	BatchNeedsAttention Kind = "batch.needs_attention"
	BatchTwin           Kind = "batch.twin"
	BatchOrphan         Kind = "batch.orphan_batch"
	BatchOrphanResult   Kind = "batch.orphan_result"
)

// Event tells of one change of a job, a batch or a queue. ID is "<batch>-<revision replaced>", "0-<revision replaced>" for a job or a queue, and
// the last token of the subject.
type Event struct {
	ID    string    `json:"id"`
	Kind  Kind      `json:"kind"`
	At    time.Time `json:"at"`
	Queue string    `json:"queue"`
	Job   string    `json:"job"` // [NoJob] in an event of a queue
	Batch string    `json:"batch,omitempty"`
	// JobState, BatchState or BudgetState is the whole state after the change.
	JobState    *Job    `json:"job_state,omitempty"`
	BatchState  *Batch  `json:"batch_state,omitempty"`
	BudgetState *Budget `json:"budget_state,omitempty"`
	// Note says what is not in the state: an orphan's provider batch id, the expected and the real row count.
	Note string `json:"note,omitempty"`
}

// EventID is the id of the event of a change of batch (empty for a job or a queue) that replaced the given revision.
func EventID(batch string, replaced uint64) string {
	if batch == "" {
		batch = "0"
	}
	return batch + "-" + strconv.FormatUint(replaced, 10)
}

// Subject is where e is published.
func (e *Event) Subject() string { return EventSubject(e.Kind, e.Queue, e.Job, e.ID) }

// Encode returns the JSON of e.
func (e *Event) Encode() []byte { return encode(e) }

// ParseEvent reads an event.
func ParseEvent(data []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(data, &e); err != nil {
		return Event{}, fmt.Errorf("parse event: %w", err)
	}
	return e, nil
}
