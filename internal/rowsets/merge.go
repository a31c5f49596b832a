package rowsets

import (
	"github.com/batchbus/batchbus/internal/distinct"
)

// Later are the rows whose id came before, one bit a line.
type Later struct{ lines []map[int]uint64 }

// Add notes a row.
func (l *Later) Add(at distinct.Place) {
	for len(l.lines) <= at.File {
		l.lines = append(l.lines, make(map[int]uint64))
	}
	l.lines[at.File][at.Line/64] |= 1 << (at.Line % 64)
}

// Has reports whether a row was noted.
func (l *Later) Has(at distinct.Place) bool {
	return at.File < len(l.lines) && l.lines[at.File][at.Line/64]>>(at.Line%64)&1 == 1
}
