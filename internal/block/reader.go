package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/batchbus/batchbus/pkg/events"
)

// ErrCorrupt is returned when bytes are no block of this version, or one that was cut short.
var ErrCorrupt = errors.New("block is corrupt")

// maxPayload bounds what a corrupt length can make a reader believe.
const maxPayload = 1 << 32

// ReadSeal reports whether data is a seal block, and the row count that the publisher said beside it.
func ReadSeal(data []byte) (expected *int, ok bool) {
	if len(data) <= len(magic) || string(data[:len(magic)]) != magic || data[len(magic)] != kindSeal {
		return nil, false
	}
	said, n := binary.Uvarint(data[len(magic)+1:])
	if n <= 0 || said == 0 {
		return nil, true
	}
	rows := int(said - 1)
	return &rows, true
}

// Read yields the entries of a rows block in order. It ends after the first error, which wraps [ErrCorrupt]. The entry is reused from
// one step to the next, and its bytes alias data. A seal block has no entries.
func Read(data []byte) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		if _, sealed := ReadSeal(data); sealed {
			return
		}
		if len(data) <= len(magic) || string(data[:len(magic)]) != magic || data[len(magic)] != kindRows {
			yield(nil, fmt.Errorf("read block head: %w", ErrCorrupt))
			return
		}
		d := decoder{rest: data[len(magic)+1:]}
		var e Entry
		for n := 0; len(d.rest) > 0; n++ {
			e = d.entry()
			if d.failed {
				yield(nil, fmt.Errorf("read block entry %d: %w", n, ErrCorrupt))
				return
			}
			if !yield(&e, nil) {
				return
			}
		}
	}
}

// decoder reads from the front of rest; failed is sticky.
type decoder struct {
	rest   []byte
	groups []events.GroupKey
	failed bool
}

func (d *decoder) entry() Entry {
	flags := d.take(1)
	if d.failed {
		return Entry{}
	}
	e := Entry{Absent: flags[0]&flagAbsent != 0}
	copy(e.Source[:], d.take(len(e.Source)))
	copy(e.ID[:], d.take(len(e.ID)))
	copy(e.Row[:], d.take(len(e.Row)))
	e.Sequence = d.uvarint()
	e.Line = int(d.uvarint())
	e.CustomID = string(d.bytes())
	if flags[0]&flagRefused != 0 {
		e.Fault = &Fault{Code: string(d.bytes()), Message: string(d.bytes()), Hint: string(d.bytes()), Column: int(d.uvarint())}
	} else {
		e.Group = d.group()
	}
	d.payload(&e)
	return e
}

func (d *decoder) payload(e *Entry) {
	if e.Absent {
		size := d.uvarint()
		d.failed = d.failed || size > maxPayload
		e.Size = int(size)
		return
	}
	payload := d.bytes()
	e.Size = len(payload)
	if e.Fault != nil {
		e.Fault.Payload = payload
		return
	}
	e.Tail = payload
}

func (d *decoder) group() events.GroupKey {
	i := d.uvarint()
	if i == uint64(len(d.groups)) {
		d.groups = append(d.groups, events.GroupKey{Window: string(d.bytes()), URL: string(d.bytes()), Model: string(d.bytes())})
	}
	if d.failed || i >= uint64(len(d.groups)) {
		d.failed = true
		return events.GroupKey{}
	}
	return d.groups[i]
}

func (d *decoder) take(n int) []byte {
	if d.failed || n > len(d.rest) {
		d.failed = true
		return nil
	}
	taken := d.rest[:n:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.failed = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.failed = true
		return nil
	}
	return d.take(int(n))
}
