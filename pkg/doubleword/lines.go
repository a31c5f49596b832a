package doubleword

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// Line is one line of an output file, an error file or the merged results.
type Line struct {
	// ID is the provider's row id, as it came; it is stable while the batch lives.
	ID string
	// CustomID is exact; valid if HasCustomID.
	CustomID    string
	HasCustomID bool
	// Status is the row's state in merged results: pending, in_progress, completed or failed; empty in the files. A row that was cancelled is
	// shown as pending.
	Status string
	// StatusCode is the upstream HTTP status, 0 where the shape has none.
	StatusCode int
	// RequestID is the upstream request's, usually empty.
	RequestID string
	// Body is the upstream answer, byte for byte a part of the parsed line: valid JSON, usually an object, but it can be a JSON string. nil
	// when absent or null.
	Body []byte
	// Model is the body's model, which can differ from the one asked for.
	Model string
	// FinishReason is why the model stopped: choices[0].finish_reason, stop_reason, incomplete_details.reason or the status of a response
	// object; empty when the body does not say.
	FinishReason string
	Usage        Usage
	// Err is the failure of the row, nil of a success.
	Err *LineError
	// Malformed is true when the line has no outcome that can be used: neither answer nor error, or a success without a body.
	Malformed bool
}

// Usage counts tokens. Present is false when the body names none.
type Usage struct {
	PromptTokens, CompletionTokens, TotalTokens int64
	Present                                     bool
}

// Pending reports whether the line says that its row has no outcome yet, which only merged results do.
func (l Line) Pending() bool {
	return l.Err == nil && l.Body == nil && (l.Status == "pending" || l.Status == "in_progress")
}

// Truncated reports whether the model stopped for length, so that its answer is not whole though the HTTP status is a success. It is pure.
func Truncated(l Line) bool {
	switch l.FinishReason {
	case "length", "max_tokens", "max_output_tokens", "model_context_window_exceeded", "incomplete":
		return true
	}
	return false
}

// ParseLine reads one line of any of the three shapes: nested `response`, flat `response_body`, or `error`. Body and the error's raw bytes
// alias b; nothing is re-encoded. On an error (the line is not one JSON object; ErrBlankLine when it is white space) the Line holds what
// stood before the fault, so that a custom_id is not lost, and is Malformed. It is pure.
func ParseLine(b []byte) (Line, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return Line{Malformed: true}, ErrBlankLine
	}
	r := newReader(b)
	p := lineParser{r: r}
	err := r.object(p.member)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		p.line.Malformed = true
		return p.line, fmt.Errorf("parse result line: %w", withoutPath(err))
	}
	return p.finish(), nil
}

// lineParser gathers what one line says before it is judged as a whole.
type lineParser struct {
	r         *reader
	line      Line
	errRaw    []byte // the error member, nil when null
	bodyError []byte // the answer's own error member, nil when null
}

func (p *lineParser) member(name []byte) (err error) {
	switch string(name) {
	case "id":
		p.line.ID, _, err = p.r.text()
	case "custom_id":
		p.line.CustomID, p.line.HasCustomID, err = p.r.text()
	case "status":
		p.line.Status, _, err = p.r.text()
	case "status_code":
		p.line.StatusCode, err = p.r.int()
	case "response":
		if p.r.isObject() {
			return p.r.object(p.response)
		}
		err = p.r.skip()
	case "response_body":
		err = p.body()
	case "error":
		p.errRaw, err = p.r.nonNull()
	default:
		err = p.r.skip()
	}
	return err
}

func (p *lineParser) response(name []byte) (err error) {
	switch string(name) {
	case "status_code":
		p.line.StatusCode, err = p.r.int()
	case "request_id":
		p.line.RequestID, _, err = p.r.text()
	case "body":
		err = p.body()
	default:
		err = p.r.skip()
	}
	return err
}

// body takes the answer whole, and on the same way what it says about model, usage and why it stopped.
func (p *lineParser) body() (err error) {
	if !p.r.isObject() {
		p.line.Body, err = p.r.nonNull()
		return err
	}
	facts := bodyFacts{r: p.r}
	if p.line.Body, err = p.r.objectBytes(facts.member); err != nil {
		p.line.Body = nil
		return err
	}
	p.line.Model, p.line.Usage, p.line.FinishReason = facts.model, facts.usage.total(), facts.finishReason()
	p.bodyError = facts.errRaw
	return nil
}

func (p *lineParser) finish() Line {
	l := p.line
	refused := l.StatusCode >= http.StatusBadRequest
	switch {
	case p.errRaw != nil && !isEmptyError(p.errRaw):
		l.Err = explainError(p.errRaw, l.StatusCode)
	case refused && p.bodyError != nil:
		l.Err = explainError(p.bodyError, l.StatusCode)
	case refused:
		l.Err = explainError(l.Body, l.StatusCode)
	}
	l.Malformed = l.Err == nil && l.Body == nil && !l.Pending()
	return l
}

// isEmptyError reports an error member that says nothing, as some servers send with a success.
func isEmptyError(raw []byte) bool {
	raw = bytes.Join(bytes.Fields(raw), nil)
	return string(raw) == "{}" || string(raw) == `""` || string(raw) == "false"
}

// withoutPath drops the JSON path from a syntax error: it is made of the answer's own names.
func withoutPath(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return err
	}
	return fmt.Errorf("byte %d: %w", syntax.ByteOffset, syntax.Err)
}

var errNotObject = errors.New("not a JSON object")
