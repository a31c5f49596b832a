package rows

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrBody is returned when bytes that should be a JSON object are not.
var ErrBody = errors.New("not a JSON object")

// ErrPath is returned when a path leads nowhere: it is empty or not UTF-8, or it goes through a value that is neither an object, nor null, nor an
// array with the element it names.
var ErrPath = errors.New("no such place")

// ErrValue is returned when a value to be written is not JSON.
var ErrValue = errors.New("not a JSON value")

// ErrModel is returned when a model cannot be written into a body: it is empty or not UTF-8.
var ErrModel = errors.New("not a usable model name")

// SpliceModel returns body with its top-level member "model" set to model: replaced where it stands (each of them, if
// it stands there twice), else added as the first member. Every other byte stays as it is, white space and key order
// included. The result is a new slice, body is not changed. The error is [ErrBody] or [ErrModel].
func SpliceModel(body []byte, model string) ([]byte, error) {
	quoted, err := jsontext.AppendQuote(nil, model)
	if err != nil || model == "" {
		return nil, fmt.Errorf("splice model: %w", ErrModel)
	}
	out, err := set(body, []string{"model"}, quoted)
	if err != nil {
		return nil, fmt.Errorf("splice model: %w", err)
	}
	return out, nil
}

// Splice returns line, which is a row or any other JSON object, with the value at path set to value, which is JSON. Every
// other byte stays as it is, white space and key order included.
//
// A path names a member of the object, then a member of that one, and so on; in an array an element, from "0". What
// stands there is replaced (each of them, if a name stands there twice). A missing member is added as the first of its object, missing
// objects on the way to it are made, and null on the way counts as missing. White space around value is left out, and a line feed
// inside, which can stand between tokens only, becomes a space, so that a line stays a line.
//
// The result is a new slice, line is not changed. The error is [ErrBody], [ErrPath] or [ErrValue].
func Splice(line []byte, path []string, value []byte) ([]byte, error) {
	if !jsontext.Value(value).IsValid() {
		return nil, fmt.Errorf("splice: %w", ErrValue)
	}
	out, err := set(line, path, bytes.ReplaceAll(bytes.Trim(value, " \t\r\n"), []byte{'\n'}, []byte{' '}))
	if err != nil {
		return nil, fmt.Errorf("splice: %w", err)
	}
	return out, nil
}

// set is Splice with a value that is valid.
func set(body []byte, path []string, value []byte) ([]byte, error) {
	start, err := checkedStart(body, path)
	if err != nil {
		return nil, err
	}
	s := splicer{text: body, value: value}
	if _, err := s.set(start, path); err != nil {
		return nil, err
	}
	return s.end(), nil
}

// checkedStart is where the object in body begins; the error is [ErrBody], or [ErrPath] when no path is like that.
func checkedStart(body []byte, path []string) (int, error) {
	start := len(body) - len(bytes.TrimLeft(body, " \t\r\n"))
	if !jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)) || body[start] != '{' {
		return 0, ErrBody
	}
	if len(path) == 0 || slices.ContainsFunc(path, func(name string) bool { return !utf8.ValidString(name) }) {
		return 0, ErrPath
	}
	return start, nil
}

// splice sets the member called name of the valid object at offset start of body to value, which is JSON.
func splice(body []byte, start int, name string, value []byte) []byte {
	s := splicer{text: body, value: value, out: make([]byte, 0, len(body)+len(name)+len(value)+4)}
	_, _ = s.set(start, []string{name}) // a path of one name leads somewhere in every object
	return s.end()
}
