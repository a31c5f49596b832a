package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
)

// EntrySize is how many bytes one row takes in a manifest.
const EntrySize = 48

const magic = "bbm1"

// ErrCorrupt is returned when an object is no manifest of this version, or does not hold a whole number of entries.
var ErrCorrupt = errors.New("manifest is corrupt")

// Entry is one row of a manifest.
type Entry struct {
	Place   events.RowPlace // where the row lies in ROWS
	Attempt int             // our try number of the row, from 1
	Row     block.Hash
	Source  block.Hash
}

// Encode returns the manifest of entries, which stand in the order of their places.
func Encode(entries []Entry) []byte {
	dst := make([]byte, 0, len(magic)+len(entries)*EntrySize)
	dst = append(dst, magic...)
	for i := range entries {
		e := &entries[i]
		dst = binary.LittleEndian.AppendUint64(dst, e.Place.Sequence)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(e.Place.Index))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(e.Attempt))
		dst = append(dst, 0, 0)
		dst = append(dst, e.Row[:]...)
		dst = append(dst, e.Source[:]...)
	}
	return dst
}

// Decode is the inverse of [Encode]. Its error wraps [ErrCorrupt].
func Decode(data []byte) ([]Entry, error) {
	if len(data) < len(magic) || string(data[:len(magic)]) != magic || (len(data)-len(magic))%EntrySize != 0 {
		return nil, fmt.Errorf("decode manifest of %d bytes: %w", len(data), ErrCorrupt)
	}
	data = data[len(magic):]
	entries := make([]Entry, len(data)/EntrySize)
	for i := range entries {
		row := data[i*EntrySize:][:EntrySize]
		e := &entries[i]
		e.Place.Sequence = binary.LittleEndian.Uint64(row)
		e.Place.Index = int(binary.LittleEndian.Uint32(row[8:]))
		e.Attempt = int(binary.LittleEndian.Uint16(row[12:]))
		copy(e.Row[:], row[16:])
		copy(e.Source[:], row[32:])
	}
	return entries, nil
}

// Digest is a running digest over what a batch holds. Make one with [NewDigest].
type Digest struct{ sum hash.Hash }

// NewDigest begins the digest of a batch of the given group.
func NewDigest(group events.GroupKey) *Digest {
	d := &Digest{sum: sha256.New()}
	d.text(group.Window)
	d.text(group.URL)
	d.text(group.Model)
	return d
}

// Add adds the next row.
func (d *Digest) Add(customID string, row block.Hash) {
	d.text(customID)
	d.sum.Write(row[:])
}

// Sum returns the digest so far as 64 hex characters.
func (d *Digest) Sum() string { return hex.EncodeToString(d.sum.Sum(nil)) }

func (d *Digest) text(s string) {
	var size [binary.MaxVarintLen64]byte
	d.sum.Write(size[:binary.PutUvarint(size[:], uint64(len(s)))])
	d.sum.Write([]byte(s))
}
