package conversation

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrAnswer is returned when an answer cannot be taken for one: it is no chat completion, or says nothing.
var ErrAnswer = errors.New("no usable answer")

// Answer is what a model said.
type Answer struct {
	Message []byte // the assistant's message, byte for byte
	Calls   []Call // the tools it wants called; else Text is set
	Text    []byte // its answer in words, a JSON string, byte for byte
}

// Call is one tool that the model wants called.
type Call struct {
	ID        []byte // a JSON string, byte for byte
	Name      string // as the model wrote it: perhaps no tool at all
	Arguments string // likewise: perhaps no JSON at all
}

// completion is the part of a chat completion that matters here.
type completion struct {
	Choices []struct {
		FinishReason string         `json:"finish_reason"`
		Message      jsontext.Value `json:"message"`
	} `json:"choices"`
}

type message struct {
	Content   jsontext.Value `json:"content"`
	ToolCalls []struct {
		ID       jsontext.Value `json:"id"`
		Function struct {
			Name      string         `json:"name"`
			Arguments jsontext.Value `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// Read reads the response of a row that succeeded and was not truncated. The error is an [ErrAnswer].
func Read(response []byte) (Answer, error) {
	var c completion
	if err := decode(response, &c); err != nil || len(c.Choices) == 0 {
		return Answer{}, fmt.Errorf("%w: it is no chat completion", ErrAnswer)
	}
	choice := c.Choices[0]
	var m message
	if err := decode(choice.Message, &m); err != nil {
		return Answer{}, fmt.Errorf("%w: its message is none", ErrAnswer)
	}
	answer := Answer{Message: choice.Message, Text: m.Content}
	for _, call := range m.ToolCalls {
		if call.ID.Kind() != '"' {
			return Answer{}, fmt.Errorf("%w: a tool call has no id", ErrAnswer)
		}
		answer.Calls = append(answer.Calls, Call{ID: call.ID, Name: call.Function.Name, Arguments: text(call.Function.Arguments)})
	}
	if len(answer.Calls) == 0 && (choice.FinishReason != "stop" || m.Content.Kind() != '"' || string(m.Content) == `""`) {
		return Answer{}, fmt.Errorf("%w: it ends with %q and has no text", ErrAnswer, choice.FinishReason)
	}
	return answer, nil
}

// text is what a string says; of anything else, its JSON.
func text(value jsontext.Value) string {
	if value.Kind() != '"' {
		return string(value)
	}
	unquoted, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return string(value)
	}
	return string(unquoted)
}

// decode takes names as they are written, and of two members of one name the last.
func decode(data []byte, v any) error {
	return json.Unmarshal(data, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) //nolint:wrapcheck // its callers say what was read
}
