package simulator

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// lineReader splits an upload on LF alone and counts the rows that are not blank.
type lineReader struct {
	src    *bufio.Reader
	buf    []byte
	limit  int // of one line; what is longer cannot hold an acceptable body
	rows   int
	offset int64
}

// next returns the next non-blank row, trimmed, valid until the next call; io.EOF ends the part.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, last, err := l.physical()
		if err != nil {
			return nil, err
		}
		if last {
			line = trimTornRune(line)
		}
		if !utf8.Valid(line) {
			return nil, badRequest("Invalid UTF-8 near line %d, byte offset %d", l.rows+1, l.offset-int64(len(line))+int64(validPrefix(line)))
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 {
			l.rows++
			return line, nil
		}
		if last {
			return nil, io.EOF
		}
	}
}

// physical returns one line without its LF, and whether the part ended with it.
func (l *lineReader) physical() ([]byte, bool, error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.src.ReadSlice('\n')
		l.offset += int64(len(part))
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf[:len(l.buf)-1], false, nil
		case errors.Is(err, io.EOF):
			return l.buf, true, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, fmt.Errorf("read upload: %w", err)
		case len(l.buf) > l.limit:
			return nil, false, badRequest("Line %d: Request body exceeds the size limit", l.rows+1)
		}
	}
}

// trimTornRune drops a multi-byte sequence that the end of the file cuts, as the provider silently does.
func trimTornRune(line []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(line); back++ {
		tail := line[len(line)-back:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return line[:len(line)-back]
			}
			break
		}
	}
	return line
}

func validPrefix(b []byte) int {
	n := 0
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}
