package doubleword

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DefaultMaxLine is the longest line a Scanner holds in memory by default: 64 MiB, six times the provider's cap on a request row.
const DefaultMaxLine = 64 << 20

// ErrLineTooLong is returned when a line is longer than the scanner may hold; see [Scanner.Oversize].
var ErrLineTooLong = errors.New("line too long")

// ErrBlankLine is returned by ParseLine for a line of nothing but white space.
var ErrBlankLine = errors.New("blank line")

const (
	firstBuffer  = 64 << 10
	maxEmptyRead = 100
)

// Scanner splits a stream into lines on LF alone: CR, U+2028, U+0085 and other separators inside a line are bytes like any other. It holds
// one line, in a buffer that grows to the longest line seen and is used again. It is for one goroutine.
type Scanner struct {
	r          io.Reader
	max        int
	buf        []byte
	start, end int // unread bytes are buf[start:end]
	line       []byte
	complete   int
	err        error // of the reader, io.EOF included
	long       *longLine
	tail       []byte
	partial    bool
}

// NewScanner returns a Scanner that holds lines of at most maxLine bytes, LF not counted; 0 or less means DefaultMaxLine.
func NewScanner(r io.Reader, maxLine int) *Scanner {
	if maxLine <= 0 {
		maxLine = DefaultMaxLine
	}
	return &Scanner{r: r, max: maxLine, buf: make([]byte, min(firstBuffer, maxLine+1))}
}

// Scan reads the next complete line. It returns false at the end of the stream, at a reader's error, and at a line that is too long. After
// the last it goes on with the line behind it once Oversize was called.
func (s *Scanner) Scan() bool {
	s.line = nil
	if !s.skipLong() {
		return false
	}
	for searched := 0; ; {
		if at := bytes.IndexByte(s.buf[s.start+searched:s.end], '\n'); at >= 0 && searched+at <= s.max {
			s.line = s.buf[s.start : s.start+searched+at]
			s.start += searched + at + 1
			s.complete++
			return true
		}
		searched = s.end - s.start
		if searched > s.max {
			s.long = &longLine{s: s}
			return false
		}
		if s.err != nil {
			s.tail, s.partial = s.buf[s.start:s.end], s.start < s.end
			return false
		}
		s.fill()
	}
}

// Bytes returns the line without its LF; it is valid until the next Scan.
func (s *Scanner) Bytes() []byte { return s.line }

// Complete returns how many lines have ended so far, those read through Oversize included: by so much the cursor may advance.
func (s *Scanner) Complete() int { return s.complete }

// Partial reports whether the stream ended in mid-line; that line is not returned by Scan and must be read again.
func (s *Scanner) Partial() bool { return s.partial }

// Tail returns the bytes of a Partial line: of a stream that ended with no error they may be a whole line that only lacks its LF.
// It is nil for a line that was too long.
func (s *Scanner) Tail() []byte { return s.tail }

// Err returns why Scan returned false: nil at the end of the stream, the reader's error, or one that is [ErrLineTooLong] and names the line.
func (s *Scanner) Err() error {
	switch {
	case s.long != nil && !s.long.ended && s.long.broken == nil:
		return fmt.Errorf("scan line %d: %w: over %d bytes", s.complete+1, ErrLineTooLong, s.max)
	case errors.Is(s.err, io.EOF):
		return nil
	}
	return s.err
}

// fill reads once more into the buffer, making room first. One byte more than max always fits, so that a line too long shows.
func (s *Scanner) fill() {
	if s.end == len(s.buf) && s.start > 0 {
		copy(s.buf, s.buf[s.start:s.end])
		s.start, s.end = 0, s.end-s.start
	}
	if s.end == len(s.buf) {
		grown := make([]byte, min(2*len(s.buf), s.max+1))
		copy(grown, s.buf[:s.end])
		s.buf = grown
	}
	for range maxEmptyRead {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		s.err = err
		if n > 0 || err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}
