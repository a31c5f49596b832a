package doubleword

import (
	"bytes"
	"errors"
	"io"
)

// Oversize returns the line that was too long: its first maxLine bytes, valid until rest is read or Scan is called, and a reader of the
// others, LF excluded. rest ends with io.EOF when the line ended and with io.ErrUnexpectedEOF, or the reader's error, when the stream broke
// off before. What is not read of it, the next Scan skips. When no line was too long both are nil.
func (s *Scanner) Oversize() (prefix []byte, rest io.Reader) {
	if s.long == nil || s.long.ended {
		return nil, nil
	}
	if !s.long.taken {
		s.long.taken = true
		s.long.prefix = s.buf[s.start : s.start+s.max]
		s.start += s.max
	}
	return s.long.prefix, s.long
}

// skipLong reads a long line that was handed out to its end, and reports whether scanning can go on.
func (s *Scanner) skipLong() bool {
	if s.long == nil {
		return true
	}
	if !s.long.taken {
		return false
	}
	if _, err := io.Copy(io.Discard, s.long); err != nil {
		return false
	}
	s.long = nil
	return true
}

// longLine reads what follows the prefix of a line that is too long.
type longLine struct {
	s      *Scanner
	prefix []byte
	taken  bool
	ended  bool
	broken error
}

// Read implements io.Reader for Oversize.
func (l *longLine) Read(p []byte) (int, error) {
	switch {
	case l.ended:
		return 0, io.EOF
	case l.broken != nil:
		return 0, l.broken
	case len(p) == 0:
		return 0, nil
	}
	s := l.s
	for s.start == s.end {
		if s.err != nil {
			return 0, l.breakOff()
		}
		s.start, s.end = 0, 0
		s.fill()
	}
	pending := s.buf[s.start:s.end]
	at := bytes.IndexByte(pending, '\n')
	if at >= 0 {
		pending = pending[:at]
	}
	n := copy(p, pending)
	s.start += n
	if at >= 0 && n == at {
		s.start++
		s.complete++
		l.ended = true
	}
	return n, nil
}

func (l *longLine) breakOff() error {
	l.broken = l.s.err
	if errors.Is(l.broken, io.EOF) {
		l.broken = io.ErrUnexpectedEOF
	}
	l.s.partial = true
	return l.broken
}
