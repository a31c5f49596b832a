package events

import "time"

// HoldPaused is the code of a queue's hold by which a person has paused it. Only whoever paused it ends it: see [Budget.Resume].
const HoldPaused = "paused"

// Pause adds the hold of a paused queue: nothing more of it is sent, whatever the API key. It tells false when it is paused already.
func (b *Budget) Pause(message string, at time.Time) (added bool) {
	return b.Hold(QueueHold{Hold: Hold{Code: HoldPaused, Message: message, At: at}})
}
