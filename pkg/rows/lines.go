package rows

import (
	"bytes"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Line is one physical line that is not blank, without its line end and without white space around.
type Line struct {
	Bytes  []byte // Bytes aliases what the line was read from.
	Number int    // Number counts physical lines from 1; blank lines count.
}

// Lines splits the payload of a message on LF, and on nothing else: a raw U+2028 or U+0085 inside a string is text
// (field report P76). It strips spaces, tabs and carriage returns around each line and one byte order mark at the very
// start, and skips blank lines. The lines alias payload; the sequence may be ranged over more than once.
func Lines(payload []byte) iter.Seq[Line] {
	payload = bytes.TrimPrefix(payload, []byte(bom))
	return func(yield func(Line) bool) {
		rest := payload
		for number := 1; len(rest) > 0; number++ {
			var line []byte
			line, rest, _ = bytes.Cut(rest, []byte{'\n'})
			if line = trim(line); len(line) > 0 && !yield(Line{line, number}) {
				return
			}
		}
	}
}

// Payload is [Lines] for the payload of a message, but a payload that is exactly one JSON object over several lines is
// yielded as one line, with the white space between its tokens removed and every string and number as it was; compacted
// reports that. The line then is a copy, and its number is that of the opening brace.
func Payload(payload []byte) (lines iter.Seq[Line], compacted bool) {
	text := bytes.TrimPrefix(payload, []byte(bom))
	object := bytes.TrimSpace(text)
	if !isOneObject(object) {
		return Lines(payload), false
	}
	start := bytes.IndexByte(text, '{')
	line := Line{compact(object), 1 + bytes.Count(text[:start], []byte{'\n'})}
	return func(yield func(Line) bool) { yield(line) }, true
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
