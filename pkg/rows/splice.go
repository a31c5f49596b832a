package rows

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrBody is returned when bytes that should be a JSON object are not.
var ErrBody = errors.New("not a JSON object")

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
	value := jsontext.Value(body)
	if !value.IsValid(jsontext.AllowDuplicateNames(true)) {
		return nil, fmt.Errorf("splice model: %w", ErrBody)
	}
	start := len(body) - len(bytes.TrimLeft(body, " \t\r\n"))
	if body[start] != '{' {
		return nil, fmt.Errorf("splice model: %w", ErrBody)
	}
	return splice(body, start, "model", quoted), nil
}

// splice sets the member called name of the valid object at offset start of body to value, which is JSON.
func splice(body []byte, start int, name string, value []byte) []byte {
	out := make([]byte, 0, len(body)+len(name)+len(value)+4)
	copied, members := 0, 0
	for i := start + 1; ; {
		m, _, ok := nextMember(body, i)
		if !ok {
			break
		}
		i = valueEnd(body, m.at, nil)
		members++
		if m.is(name) {
			out = append(append(out, body[copied:m.at]...), value...)
			copied = i
		}
	}
	if copied == 0 {
		out = append(out, body[:start+1]...)
		out = append(append(appendQuoted(out, name), ':'), value...)
		if members > 0 {
			out = append(out, ',')
		}
		copied = start + 1
	}
	return append(out, body[copied:]...)
}
