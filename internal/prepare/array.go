package prepare

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/batchbus/batchbus/pkg/rows"
)

// array reads an array of rows, of any length, from its bracket to behind the closing one.
func (s *source) array() error {
	start := s.line
	_, _ = s.next()
	indent := 0 // the column of the first element, when it begins its line
	for n := 0; ; n++ {
		c, fresh, err := s.between()
		switch {
		case errors.Is(err, io.EOF):
			return &textError{s.line, fmt.Sprintf("the array that begins in line %d does not end: something may be missing", start)}
		case err != nil:
			return fmt.Errorf("read line %d: %w", s.line, err)
		case c == ']':
			_, _ = s.next()
			return nil
		}
		if n == 0 && fresh {
			indent = s.column
		}
		found := piece{line: s.line, column: s.column}
		whole, err := s.element(&found, c)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read line %d: %w", s.line, err)
		}
		if err := s.hand(found); err != nil {
			return err
		}
		if !whole {
			s.resume(indent)
		}
	}
}

// between passes over what stands between elements, and says whether the next one begins its line.
func (s *source) between() (c byte, fresh bool, err error) {
	for line := s.line; ; _, _ = s.next() {
		if c, err = s.skip(); err != nil || c != ',' {
			return c, s.line > line, err
		}
	}
}

// element reads what begins with c. It is not whole when its brackets or quotes do not match: found then ends with what does not fit.
func (s *source) element(found *piece, c byte) (whole bool, err error) {
	if c != '{' && c != '[' {
		return true, s.scalar(found)
	}
	var open []byte
	for {
		c, err := s.next()
		if err != nil {
			return true, err
		}
		s.keep(found, c)
		switch c {
		case '"':
			if whole, err := s.text(found); !whole || err != nil {
				return whole, err
			}
		case '{', '[':
			open = append(open, c)
		case '}', ']':
			if open[len(open)-1] != c-2 {
				return false, nil
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return true, nil
			}
		}
	}
}

// text reads the rest of a string. A line feed in it, which no string can hold, ends it: it stands as a tab, for which the row is refused.
func (s *source) text(found *piece) (whole bool, err error) {
	for escaped := false; ; {
		c, err := s.next()
		if err != nil {
			return true, err
		}
		if c == '\n' {
			s.keep(found, '\t')
			return false, nil
		}
		s.keep(found, c)
		if c == '"' && !escaped {
			return true, nil
		}
		escaped = c == '\\' && !escaped
	}
}

// scalar reads what is neither an object nor an array, and so no row.
func (s *source) scalar(found *piece) error {
	for {
		head, err := s.in.Peek(1)
		if err != nil {
			return err //nolint:wrapcheck // the caller knows the line
		}
		if c := head[0]; len(found.text) > 0 && (c == ',' || c == ']' || c == '\n') {
			return nil
		}
		s.keep(found, head[0])
		_, _ = s.next()
	}
}

// keep adds a byte to a row, of which no more than the limit is held.
func (s *source) keep(found *piece, c byte) {
	switch {
	case found.size > 0:
		found.size++
	case len(found.text) == s.limit:
		found.size = int64(s.limit) + 1
	default:
		found.text = append(found.text, c)
	}
}

// lookAhead is how much of a line is looked at to see whether it begins a row.
const lookAhead = 4 << 10

// resume goes on behind a broken element, to the next line that begins a row, or the end of the array.
func (s *source) resume(indent int) {
	for {
		for s.column > 1 {
			if _, err := s.next(); err != nil {
				return // it comes again
			}
		}
		head, err := s.in.Peek(lookAhead)
		line, _, _ := bytes.Cut(head, []byte{'\n'})
		if text := bytes.TrimLeft(line, " \t"); len(text) > 0 && (text[0] == ']' && len(text) == len(line) ||
			text[0] == '{' && (namesID(text) || len(line)-len(text)+1 == indent)) {
			return
		}
		if err != nil && len(head) == 0 {
			return
		}
		if _, err := s.next(); err != nil {
			return
		}
	}
}

// namesID reports whether the beginning of an object names a custom_id.
func namesID(text []byte) bool {
	_, fault := rows.Parse(text, nil)
	return fault == nil || fault.HasCustomID
}
