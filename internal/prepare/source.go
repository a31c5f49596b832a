package prepare

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/batchbus/batchbus/pkg/rows"
)

// source finds the rows of a text.
type source struct {
	scanner
	counts *Counts
	each   func(piece) error // each takes a row; its error ends the reading.
	last   int               // last is the line of the last row, and again how many began on it.
	again  int
}

// read goes through the text, one array after the other, and the rest line by line.
func (s *source) read() error {
	for {
		c, err := s.skip()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read line %d: %w", s.line, err)
		case c != '[':
			return s.lines()
		}
		s.counts.Arrays++
		if err := s.array(); err != nil {
			return err
		}
	}
}

// lines reads what is left as lines.
func (s *source) lines() error {
	first, column := s.line, s.column
	reader := rows.NewReader(s.in, s.limit)
	for {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		found := piece{text: line.Bytes, line: first + line.Number - 1, column: 1}
		if line.Number == 1 {
			found.column = column
		}
		if long, ok := errors.AsType[*rows.LineTooLongError](err); ok {
			found.size = long.Size
		} else if foreign, ok := errors.AsType[*rows.EncodingError](err); ok { // only behind white space: else the whole is decoded
			return &textError{first, "what follows looks like " + foreign.Encoding + ", not UTF-8; it was not read"}
		} else if err != nil {
			return err
		}
		if err := s.split(found); err != nil {
			return err
		}
	}
}

// split hands on what stands on a line, or on the lines of one object.
func (s *source) split(found piece) error {
	for bytes.HasPrefix(found.text, []byte(bom)) {
		s.counts.Marks++
		found.text = bytes.TrimLeft(found.text[len(bom):], " \t\r")
	}
	if found.size > 0 || len(found.text) == 0 {
		return s.hand(found)
	}
	all := objects(found.text)
	switch {
	case len(all) == 0:
		return s.hand(found)
	case len(all) == 1 && all[0] == span{0, len(found.text)}: // nearly every row
		return s.hand(found)
	case found.text[0] == '[':
		s.counts.Arrays++
	case len(all) > 1:
		s.counts.Cut++
	default:
		s.counts.Commas++
	}
	for _, part := range all {
		one := piece{text: found.text[part.at:part.end]}
		one.line, one.column = found.place(part.at)
		if err := s.hand(one); err != nil {
			return err
		}
	}
	return nil
}

// hand passes a row on.
func (s *source) hand(found piece) error {
	if len(found.text) == 0 {
		return nil
	}
	if found.line != s.last {
		s.last, s.again = found.line, 0
	}
	found.again = s.again
	s.again++
	return s.each(found)
}

// scanner reads bytes and knows where it is.
type scanner struct {
	in     *bufio.Reader
	limit  int // limit is the longest row.
	line   int // line and column are those of the next byte.
	column int
}

func (s *scanner) next() (byte, error) {
	c, err := s.in.ReadByte()
	switch {
	case err != nil:
	case c == '\n':
		s.line, s.column = s.line+1, 1
	default:
		s.column++
	}
	return c, err //nolint:wrapcheck // whoever knows the line wraps it
}

// skip passes over white space and byte order marks, and returns the byte that follows, which it leaves.
func (s *source) skip() (byte, error) {
	for {
		head, err := s.in.Peek(1)
		if err != nil {
			return 0, err //nolint:wrapcheck // whoever knows the line wraps it
		}
		switch head[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = s.next()
			continue
		case bom[0]:
			if mark, _ := s.in.Peek(len(bom)); string(mark) == bom {
				s.counts.Marks++
				_, _ = s.in.Discard(len(bom))
				continue
			}
		}
		return head[0], nil
	}
}
