package distinct

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"

	"github.com/batchbus/batchbus/pkg/rows"
)

// Place is where a row stands.
type Place struct {
	File int // File counts from 0.
	Line int // Line counts from 1.
}

// Pair is a row and the first one that has its custom_id.
type Pair struct{ First, Again Place }

// entry is a row: the hash of its id, then file and line, so that the order of bytes is that of ids and, among those, of places.
type entry [28]byte

func (e *entry) place() Place {
	return Place{File: int(binary.BigEndian.Uint32(e[16:])), Line: int(binary.BigEndian.Uint64(e[20:]))}
}

func compare(a, b entry) int { return bytes.Compare(a[:], b[:]) }

// DefaultBuffer is how many rows are held in memory: 28 MiB.
const DefaultBuffer = 1 << 20

// Finder takes rows and finds the doubled ones. The caller closes it. It is not safe for concurrent use.
type Finder struct {
	buffer int
	held   []entry
	file   *os.File // file holds the sorted runs, one behind the other; nil until there is one.
	runs   []int    // runs are their lengths.
}

// New returns a finder that holds as many rows in memory as buffer says, at least one.
func New(buffer int) *Finder { return &Finder{buffer: max(buffer, 1)} }

// Add takes a row by its custom_id. The error is that of the temporary file.
func (f *Finder) Add(id string, at Place) error {
	var e entry
	hash := rows.HashID(id)
	copy(e[:], hash[:])
	binary.BigEndian.PutUint32(e[16:], uint32(at.File))
	binary.BigEndian.PutUint64(e[20:], uint64(at.Line))
	if f.held = append(f.held, e); len(f.held) < f.buffer {
		return nil
	}
	return f.spill()
}

// spill writes what is held as a run.
func (f *Finder) spill() (err error) {
	if f.file == nil {
		if f.file, err = os.CreateTemp("", "batchbus-ids-*"); err != nil {
			return fmt.Errorf("hold ids: %w", err)
		}
		_ = os.Remove(f.file.Name()) // where an open file cannot be removed, Close does it
	}
	slices.SortFunc(f.held, compare)
	text := make([]byte, 0, 64<<10)
	for i := range f.held {
		if text = append(text, f.held[i][:]...); len(text)+len(entry{}) > cap(text) || i == len(f.held)-1 {
			if _, err := f.file.Write(text); err != nil {
				return fmt.Errorf("hold ids: %w", err)
			}
			text = text[:0]
		}
	}
	f.runs, f.held = append(f.runs, len(f.held)), f.held[:0]
	return nil
}

// Doubled yields every row but the first of each custom_id, with that first one. Their order is that of hashes, and among those of places. It may be
// called again, also after more rows.
func (f *Finder) Doubled() iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		var first entry
		known := false
		for e, err := range f.sorted() {
			switch {
			case err != nil:
				yield(Pair{}, err)
				return
			case known && bytes.Equal(e[:16], first[:16]):
				if !yield(Pair{First: first.place(), Again: e.place()}, nil) {
					return
				}
			default:
				first, known = e, true
			}
		}
	}
}

// Row is a row by the hash of its id.
type Row struct {
	ID [16]byte
	Place
}

// Rows yields all rows, in the order of hashes, and among those of places. It may be called again.
func (f *Finder) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for e, err := range f.sorted() {
			if !yield(Row{ID: [16]byte(e[:16]), Place: e.place()}, err) || err != nil {
				return
			}
		}
	}
}

// Close removes the temporary file.
func (f *Finder) Close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	if gone := os.Remove(f.file.Name()); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		return fmt.Errorf("remove held ids: %w", err)
	}
	return nil
}
