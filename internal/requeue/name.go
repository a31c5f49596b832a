package requeue

import "github.com/batchbus/batchbus/pkg/events"

// Nobody stands for a queue or job that a refused message did not name (see ingest).
const Nobody = "_"

// Queue is where a linked job goes: the old one's queue, or the default one for a message that named none.
func Queue(queue string) string {
	if queue == Nobody {
		return events.DefaultQueue
	}
	return queue
}
