package events

import (
	"encoding/json"
	"fmt"
	"slices"
)

// NoJob stands where an event names its job when the event is a queue's.
const NoJob = "-"

// WhyQueueHeld is what a batch says of itself that is not sent because its queue is held.
const WhyQueueHeld = "queue_held"

// Budget is the state of what a queue may spend, key [BudgetKey]. A queue that never was held has none. It is changed by compare-and-set only.
type Budget struct {
	Queue string      `json:"queue"`
	Holds []QueueHold `json:"holds,omitempty"`
	// Spending is nil while no batch of the queue was ever sent under a limit.
	Spending *Ledger `json:"spending,omitempty"`
}

// QueueHold keeps batches of a queue from being uploaded and created until a person resumes the queue. What runs already goes on.
type QueueHold struct {
	// Key is the name of the API key whose batches wait; empty: all of them.
	Key string `json:"key,omitempty"`
	Hold
}

// Stops returns the hold that keeps batches of an API key from being sent, if there is one. It is pure.
func (b *Budget) Stops(key string) (hold QueueHold, held bool) {
	i := slices.IndexFunc(b.Holds, func(h QueueHold) bool { return h.Key == "" || h.Key == key })
	if i < 0 {
		return QueueHold{}, false
	}
	return b.Holds[i], true
}

// Hold adds a hold, unless there is one of the same key and code: then nothing changes and it tells false.
func (b *Budget) Hold(hold QueueHold) (added bool) {
	if slices.ContainsFunc(b.Holds, func(h QueueHold) bool { return h.Key == hold.Key && h.Code == hold.Code }) {
		return false
	}
	b.Holds = append(slices.Clone(b.Holds), hold)
	return true
}

// Resume takes out the holds of a code, all of them but a pause when it is empty, and returns what it took out: whoever ends what the provider
// had stopped does not end what a person has stopped.
func (b *Budget) Resume(code string) (ended []QueueHold) {
	var kept []QueueHold
	for _, h := range b.Holds {
		if code == "" && h.Code != HoldPaused || h.Code == code {
			ended = append(ended, h)
		} else {
			kept = append(kept, h)
		}
	}
	b.Holds = kept
	return ended
}

// Encode returns the JSON of b.
func (b *Budget) Encode() []byte { return encode(b) }

// ParseBudget reads a queue's budget.
func ParseBudget(data []byte) (Budget, error) {
	var b Budget
	if err := json.Unmarshal(data, &b); err != nil {
		return Budget{}, fmt.Errorf("parse budget: %w", err)
	}
	return b, nil
}
