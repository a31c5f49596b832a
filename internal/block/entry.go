package block

import (
	"encoding/hex"

	"github.com/batchbus/batchbus/pkg/events"
)

// Hash is 128 bits of a SHA-256.
type Hash [16]byte

// String returns the hash as 32 hex characters, as it stands in subjects and headers.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Entry is one judged row of a block. What [Read] yields aliases the block's bytes.
type Entry struct {
	Source   Hash // over the source and the row as received: which input this is
	ID       Hash // over the custom_id
	Row      Hash // over the row as received
	CustomID string
	Sequence uint64 // of the request message
	Line     int    // in the publisher's message or file, from 1

	// Fault is set for a refused row; a good row has Group and Tail.
	Fault *Fault
	Group events.GroupKey
	Tail  []byte
	// Absent says that the block's message leaves the payload out: Tail or Fault.Payload is in the object. Size is its length.
	Absent bool
	Size   int
}

// Fault is why a row was refused, and the row.
type Fault struct {
	Code, Message, Hint string
	Column              int
	Payload             []byte
}

func (e *Entry) payload() []byte {
	if e.Fault != nil {
		return e.Fault.Payload
	}
	return e.Tail
}
