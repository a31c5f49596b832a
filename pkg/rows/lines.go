package rows

import (
	"bytes"
	"io"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Line is one line that is not blank, without its line end and without white space around. From [Payload] and [Reader]
// it may also be an object over several lines, or as much of one as there is: then Bytes has line feeds, each line in it
// is trimmed, and [Parse] refuses it as [CodeMultilineObject], once.
type Line struct {
	Bytes  []byte // Bytes aliases what the line was read from; that of an object over several lines is a copy.
	Number int    // Number counts physical lines from 1; blank lines count.
}

// Lines splits the payload of a message on LF, and on nothing else: a raw U+2028 or U+0085 inside a string is text
// (field report P76). It strips spaces, tabs and carriage returns around each line and one byte order mark at the very
// start, and skips blank lines. The lines alias payload; the sequence may be ranged over more than once.
func Lines(payload []byte) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for s := newSplitter(payload); ; {
			if line, err := s.next(); err != nil || !yield(line) {
				return
			}
		}
	}
}

// splitter hands out the lines of a payload.
type splitter struct {
	rest   []byte
	number int
}

func newSplitter(payload []byte) *splitter {
	return &splitter{rest: bytes.TrimPrefix(payload, []byte(bom))}
}

// next returns the next line that is not blank, or io.EOF.
func (s *splitter) next() (Line, error) {
	for len(s.rest) > 0 {
		line, rest, _ := bytes.Cut(s.rest, []byte{'\n'})
		s.rest = rest
		s.number++
		if line = trim(line); len(line) > 0 {
			return Line{line, s.number}, nil
		}
	}
	return Line{}, io.EOF
}

// Payload yields what the payload of a message holds: its lines as [Lines] has them, but an object over several lines as
// one [Line]. There are two exceptions. A payload that is exactly one JSON object over several lines is yielded as one
// line that can be a good row, with the white space between its tokens removed and every string and number as it was;
// compacted reports that. The line then is a copy, and its number is that of the opening brace. And a payload in another
// encoding than UTF-8 is one line as a whole, since its line feeds end no lines.
func Payload(payload []byte) (lines iter.Seq[Line], compacted bool) {
	if isForeign(payload) {
		return only(Line{payload, 1}), false
	}
	text := bytes.TrimPrefix(payload, []byte(bom))
	object := bytes.TrimSpace(text)
	if isOneObject(object) {
		start := bytes.IndexByte(text, '{')
		return only(Line{compact(object), 1 + bytes.Count(text[:start], []byte{'\n'})}), true
	}
	return joined(newSplitter(payload), len(payload)), false
}

// Part yields what a message holds that is a part of a file, from the file's line first on: what [Reader] yields there,
// under the numbers that count from the part's own first line. So it is of no matter where a file is cut: only the
// file's very first bytes can be a byte order mark or another encoding, and an object over several lines is never a
// row, whether it stands alone in its part or not.
func Part(payload []byte, first int) iter.Seq[Line] {
	if first > 1 {
		return joined(&splitter{rest: payload}, len(payload))
	}
	if isForeign(payload) {
		return only(Line{payload, 1})
	}
	return joined(newSplitter(payload), len(payload))
}

// joined yields the lines of a splitter, those of an object together. It may be ranged over more than once.
func joined(from *splitter, limit int) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		source := *from
		for j := (joiner{physical: source.next, limit: limit}); ; {
			if line, err := j.next(); err != nil || !yield(line) {
				return
			}
		}
	}
}

func only(line Line) iter.Seq[Line] { return func(yield func(Line) bool) { yield(line) } }

// isForeign reports whether payload is UTF-16 or UTF-32. The first bytes of a broken row may look like it, so each line
// has to hold a zero byte as well, which no row does.
func isForeign(payload []byte) bool {
	if encodingOf(payload) == "" {
		return false
	}
	for line := range Lines(payload) {
		if bytes.IndexByte(line.Bytes, 0) < 0 {
			return false
		}
	}
	return true
}

// isOneObject reports whether text is one object, and has a line feed between its tokens. Encoding and names are not
// judged here: Parse does, and names the fault better on one line.
func isOneObject(text []byte) bool {
	if len(text) == 0 || text[0] != '{' || bytes.IndexByte(text, '\n') < 0 {
		return false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	value, err := dec.ReadValue()
	return err == nil && len(value) == len(text)
}

// compact copies valid JSON without the white space between its tokens.
func compact(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		end := i + 1
		if text[i] == '"' {
			end = stringEnd(text, i)
		}
		if !isSpace(text[i]) {
			out = append(out, text[i:end]...)
		}
		i = end
	}
	return out
}

// trim removes JSON white space around a line and keeps a caller's append from growing into the next line.
func trim(line []byte) []byte {
	return slices.Clip(bytes.Trim(line, " \t\r"))
}
