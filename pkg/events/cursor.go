package events

import (
	"encoding/json"
	"fmt"
	"math/bits"
)

// Cursor is how much of a batch's answers is durably published, key [CursorKey]. It is changed by compare-and-set only, and two of them
// merge: cursors by maximum, bits by OR, totals for new bits only.
type Cursor struct {
	OutputLines int    `json:"output_lines"` // complete lines of the output file that are settled
	ErrorLines  int    `json:"error_lines"`
	Settled     Bits   `json:"settled"` // one bit per manifest place: its row's result is stored
	Totals      Totals `json:"totals"`  // over the settled bits
}

// Bits is a set of manifest places. It is JSON as base64, least significant bit first.
type Bits []byte

// NewBits returns an empty set for places 0 to n-1.
func NewBits(n int) Bits { return make(Bits, (n+7)/8) }

// Has reports whether place is in the set.
func (b Bits) Has(place int) bool { return place/8 < len(b) && b[place/8]&(1<<(place%8)) != 0 }

// Set puts place, which must be below the n of [NewBits], into the set.
func (b Bits) Set(place int) { b[place/8] |= 1 << (place % 8) }

// Count is the number of places in the set.
func (b Bits) Count() int {
	n := 0
	for _, octet := range b {
		n += bits.OnesCount8(octet)
	}
	return n
}

// Clone returns a copy with the same places.
func (b Bits) Clone() Bits { return append(Bits(nil), b...) }

// Encode returns the JSON of c.
func (c *Cursor) Encode() []byte { return encode(c) }

// ParseCursor reads a cursor.
func ParseCursor(data []byte) (Cursor, error) {
	var c Cursor
	if err := json.Unmarshal(data, &c); err != nil {
		return Cursor{}, fmt.Errorf("parse cursor: %w", err)
	}
	return c, nil
}
