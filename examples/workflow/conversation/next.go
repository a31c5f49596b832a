package conversation

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// ErrRow is returned when a row has no list of messages that could be continued.
var ErrRow = errors.New("no row with messages")

// request is the part of a row that matters here.
type request struct {
	Body struct {
		Messages   jsontext.Value `json:"messages"`
		Tools      jsontext.Value `json:"tools"`
		ToolChoice jsontext.Value `json:"tool_choice"`
	} `json:"body"`
}

// Offer returns the row with the tools' definitions in its body, where it has no tools of its own. The error is an [ErrRow].
func Offer(row, definitions []byte) ([]byte, error) {
	r, err := read(row)
	if err != nil {
		return nil, err
	}
	if !absent(r.Body.Tools) {
		return bytes.Clone(row), nil
	}
	return rows.Splice(row, []string{"body", "tools"}, definitions)
}

// Next returns the row that goes on behind an answer that called tools: with the assistant's message and the results, one text for each call in
// its order. A tool_choice that forces a call is left out from there on, or the model could never answer. The error is an [ErrRow].
func Next(row []byte, answer *Answer, results []string) ([]byte, error) {
	r, err := read(row)
	if err != nil {
		return nil, err
	}
	next, err := rows.Splice(row, []string{"body", "messages"}, extended(r.Body.Messages, answer, results))
	if err != nil {
		return nil, fmt.Errorf("extend messages: %w", err)
	}
	if !forces(r.Body.ToolChoice) {
		return next, nil
	}
	next, _, err = rows.Remove(next, []string{"body", "tool_choice"})
	return next, err
}

func read(row []byte) (request, error) {
	var r request
	if err := decode(row, &r); err != nil || r.Body.Messages.Kind() != '[' {
		return request{}, ErrRow
	}
	return r, nil
}

// extended is the list of messages with those of this stage behind it.
func extended(messages []byte, answer *Answer, results []string) []byte {
	before := bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(messages), []byte("]")))
	list := bytes.Clone(before)
	if len(before) > len("[") {
		list = append(list, ',')
	}
	list = append(list, answer.Message...)
	for i, call := range answer.Calls {
		list = append(append(list, `,{"role":"tool","tool_call_id":`...), call.ID...)
		list = append(events.AppendString(append(list, `,"content":`...), results[i]), '}')
	}
	return append(list, ']')
}

// forces tells whether the choice makes the model call a tool: "required", or one by name.
func forces(choice jsontext.Value) bool {
	return string(choice) == `"required"` || choice.Kind() == '{'
}

func absent(value jsontext.Value) bool { return len(value) == 0 || value.Kind() == 'n' }
