package block

import (
	"encoding/binary"

	"github.com/batchbus/batchbus/pkg/events"
)

const (
	magic    = "bbk1"
	kindRows = 'r'
	kindSeal = 's'

	flagRefused = 1
	flagAbsent  = 2
)

// Builder puts entries into one block. The zero value is ready. It is not safe for concurrent use.
type Builder struct {
	buf    []byte
	groups []events.GroupKey
	n      int
}

// Add appends e, which it copies.
func (b *Builder) Add(e *Entry) { b.add(e, e.Absent) }

func (b *Builder) add(e *Entry, absent bool) {
	if len(b.buf) == 0 {
		b.buf = append(append(b.buf, magic...), kindRows)
	}
	b.n++
	var flags byte
	if e.Fault != nil {
		flags |= flagRefused
	}
	if absent {
		flags |= flagAbsent
	}
	b.buf = append(b.buf, flags)
	b.buf = append(b.buf, e.Source[:]...)
	b.buf = append(b.buf, e.ID[:]...)
	b.buf = append(b.buf, e.Row[:]...)
	b.buf = binary.AppendUvarint(b.buf, e.Sequence)
	b.buf = binary.AppendUvarint(b.buf, uint64(e.Line))
	b.buf = appendString(b.buf, e.CustomID)
	if e.Fault != nil {
		b.buf = appendString(b.buf, e.Fault.Code)
		b.buf = appendString(b.buf, e.Fault.Message)
		b.buf = appendString(b.buf, e.Fault.Hint)
		b.buf = binary.AppendUvarint(b.buf, uint64(e.Fault.Column))
	} else {
		b.addGroup(e.Group)
	}
	payload := e.payload()
	if absent {
		size := max(e.Size, len(payload))
		b.buf = binary.AppendUvarint(b.buf, uint64(size))
		return
	}
	b.buf = appendString(b.buf, payload)
}

func (b *Builder) addGroup(group events.GroupKey) {
	for i, known := range b.groups {
		if known == group {
			b.buf = binary.AppendUvarint(b.buf, uint64(i))
			return
		}
	}
	b.buf = binary.AppendUvarint(b.buf, uint64(len(b.groups)))
	b.groups = append(b.groups, group)
	b.buf = appendString(b.buf, group.Window)
	b.buf = appendString(b.buf, group.URL)
	b.buf = appendString(b.buf, group.Model)
}

// Len is the number of entries.
func (b *Builder) Len() int { return b.n }

// Size is the number of bytes of the block so far.
func (b *Builder) Size() int { return len(b.buf) }

// Bytes returns the block. It is valid until the next Add or Reset.
func (b *Builder) Bytes() []byte { return b.buf }

// Reset empties the builder and keeps its memory.
func (b *Builder) Reset() { b.buf, b.groups, b.n = b.buf[:0], b.groups[:0], 0 }

// Room is the most that e can add to a block, its payload included.
func Room(e *Entry) int {
	room := 1 + 3*len(Hash{}) + 9*binary.MaxVarintLen32 + len(e.CustomID) + len(e.payload()) + binary.MaxVarintLen64
	room += len(e.Group.Window) + len(e.Group.URL) + len(e.Group.Model)
	if e.Fault != nil {
		room += len(e.Fault.Code) + len(e.Fault.Message) + len(e.Fault.Hint)
	}
	return room
}

// Envelope returns a block that holds e alone with its payload left out: the message body beside an object that holds the whole block.
func Envelope(e *Entry) []byte {
	var b Builder
	b.add(e, true)
	return b.Bytes()
}

// Seal returns a seal block: rows behind it are late. expected is what the publisher said, nil when he did not; sequence is where his message
// stood in BATCHBUS_REQUESTS, 0 when there was none.
func Seal(expected *int, sequence uint64) []byte {
	said := uint64(0)
	if expected != nil {
		said = uint64(*expected) + 1
	}
	return binary.AppendUvarint(binary.AppendUvarint(append([]byte(magic), kindSeal), said), sequence)
}

// SealSequence is the sequence in a seal block; 0 when none is in it.
func SealSequence(data []byte) uint64 {
	if _, sealed := ReadSeal(data); !sealed {
		return 0
	}
	rest := data[len(magic)+1:]
	_, n := binary.Uvarint(rest)
	if n <= 0 {
		return 0
	}
	sequence, n := binary.Uvarint(rest[n:])
	if n <= 0 {
		return 0
	}
	return sequence
}

func appendString[T string | []byte](dst []byte, s T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
