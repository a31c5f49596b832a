package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one member of an object: text[from:end] is everything behind the member in front of it, the comma included.
type member struct {
	name      string
	from, end int
	value     []byte
}

// object is a JSON object in its bytes.
type object struct {
	text    []byte
	members []member
}

// readObject reads the members of an object. The error of what is no JSON tells its offset; [errNoObject] when it is no object.
func readObject(text []byte) (object, error) {
	o := object{text: text}
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	if begin, err := dec.ReadToken(); err != nil || begin.Kind() != '{' {
		return o, errors.Join(errNoObject, err)
	}
	for dec.PeekKind() != '}' {
		m := member{from: int(dec.InputOffset())}
		name, err := dec.ReadToken()
		if err != nil {
			return o, err //nolint:wrapcheck // its place is looked for
		}
		m.name = name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return o, err //nolint:wrapcheck // its place is looked for
		}
		m.end = int(dec.InputOffset())
		m.value = text[m.end-len(value) : m.end]
		o.members = append(o.members, m)
	}
	if _, err := dec.ReadToken(); err != nil {
		return o, err //nolint:wrapcheck // its place is looked for
	}
	if rest := bytes.TrimLeft(text[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return o, &placeError{at: len(text) - len(rest)}
	}
	return o, nil
}

// errNoObject is the fault of a body that is something else.
var errNoObject = errors.New("the body is not a JSON object")

// placeError is a fault with its offset.
type placeError struct{ at int }

// Error says what is wrong there.
func (e *placeError) Error() string { return "more text behind the object" }

// value is that of the last member of the name, which is the one that counts; nil when there is none.
func (o *object) value(name string) []byte {
	for _, m := range slices.Backward(o.members) {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// oneLine is JSON without line feeds, which can stand between tokens only. It may change text.
func oneLine(text []byte) []byte {
	for i, c := range text {
		if c == '\n' || c == '\r' {
			text[i] = ' '
		}
	}
	return text
}

// placeOf says where in a text an error of the decoder is, for people.
func placeOf(text []byte, err error) string {
	at := len(text)
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = int(syntax.ByteOffset)
	}
	if place, ok := errors.AsType[*placeError](err); ok {
		at = place.at
	}
	return place(text, at)
}

// place is an offset as line and column in bytes, both from 1.
func place(text []byte, at int) string {
	at = min(max(at, 0), len(text))
	before := text[:at]
	return fmt.Sprintf("line %d, column %d", 1+bytes.Count(before, []byte{'\n'}), at-bytes.LastIndexByte(before, '\n'))
}
