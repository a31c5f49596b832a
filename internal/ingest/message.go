package ingest

import (
	"errors"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

// errNotStored is why a message goes back whose rows were not acknowledged in time. The error itself was logged when it came up.
var errNotStored = errors.New("what follows from the message is not stored yet")

// message is one request under way through a fetch.
type message struct {
	request
	delivery jetstore.Delivery
	// pending counts what must be stored before the message may be acked: blocks and dead letters under way, and the judging itself.
	pending int
	failure error // why it goes back
	held    bool  // the ack is left to the round, which needs to know that it has arrived
	acked   bool
}

func readMessages(deliveries []jetstore.Delivery) []*message {
	batch := make([]*message, len(deliveries))
	for i, d := range deliveries {
		batch[i] = &message{request: readRequest(d.Subject, d.Header, d.Sequence, d.At), delivery: d}
	}
	return batch
}

// stored reports whether everything that follows from m is stored.
func (m *message) stored() bool { return m.pending == 0 && m.failure == nil }

func (m *message) fail(err error) {
	if m.failure == nil {
		m.failure = err
	}
}

// why is the reason why m goes back.
func (m *message) why() error {
	if m.failure != nil {
		return m.failure
	}
	return errNotStored
}

// split takes from a batch what can be handled now: the messages in front of the first seal on their subject, and those seals. The
// rest comes in the next round, so rows behind a seal are stored behind it, as far as one fetch can tell.
func split(batch []*message) (ready, seals, rest []*message) {
	sealed := make(map[string]bool)
	for _, m := range batch {
		switch {
		case sealed[m.subject]:
			rest = append(rest, m)
		case m.ends():
			sealed[m.subject] = true
			seals = append(seals, m)
		default:
			ready = append(ready, m)
		}
	}
	for _, m := range ready {
		m.held = sealed[m.subject]
	}
	return ready, seals, rest
}
