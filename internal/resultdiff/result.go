package resultdiff

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
)

// ErrNoID is returned for a line without a custom_id, as some dead letters are.
var ErrNoID = errors.New("no custom_id")

// Result is what a line says.
type Result struct {
	CustomID string
	Outcome  string // Outcome is succeeded, failed and so on, or dead_letter.
	Code     string // Code is that of the error; empty when there is none.
	Answer   []byte // Answer holds the exact bytes of the provider's answer; nil when there is none.
	Usage    events.Usage
}

// line is a line of any shape.
type line struct {
	CustomID     *string         `json:"custom_id"`
	Outcome      string          `json:"outcome"`
	Code         string          `json:"code"` // of a dead letter
	Response     json.RawMessage `json:"response"`
	ResponseBody json.RawMessage `json:"response_body"`
	Error        *struct {
		Code string `json:"code"`
	} `json:"error"`
}

// wrapped is the response of the shape openai.
type wrapped struct {
	StatusCode *int            `json:"status_code"`
	Body       json.RawMessage `json:"body"`
}

// Read reads a line of a file of results. The error is [ErrNoID], or says why it is no JSON object.
func Read(text []byte) (Result, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return Result{}, fmt.Errorf("read result: %w", err)
	}
	if l.CustomID == nil || *l.CustomID == "" {
		return Result{}, ErrNoID
	}
	r := Result{CustomID: *l.CustomID, Outcome: l.Outcome, Code: l.Code, Answer: l.answer()}
	if l.Error != nil {
		r.Code = l.Error.Code
	}
	if r.Outcome == "" {
		r.Outcome = outcomeOf(&l)
	}
	if r.Code == r.Outcome { // as the shapes openai and flat say it where an event has no error
		r.Code = ""
	}
	r.Usage = usageOf(r.Answer)
	return r, nil
}

// answer is the body in a line of any shape. That of an event has no status beside it: the bodies of the provider have no body of their own.
func (l *line) answer() []byte {
	if given(l.ResponseBody) {
		return l.ResponseBody
	}
	if !given(l.Response) {
		return nil
	}
	var w wrapped
	if l.Outcome == "" && json.Unmarshal(l.Response, &w) == nil && w.StatusCode != nil {
		if !given(w.Body) {
			return nil
		}
		return w.Body
	}
	return l.Response
}

// outcomeOf is the outcome where a line does not say it: the code of an error is then the outcome of rows that never got an answer.
func outcomeOf(l *line) string {
	if l.Error == nil {
		return string(events.Succeeded)
	}
	switch outcome := events.Outcome(l.Error.Code); outcome {
	case events.Expired, events.Cancelled, events.Rejected:
		return string(outcome)
	default:
		return string(events.Failed)
	}
}

func given(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

func usageOf(answer []byte) events.Usage {
	var body struct {
		Usage struct {
			events.Usage
			InputTokens  int64 `json:"input_tokens"`
			OutputTokens int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if answer == nil || json.Unmarshal(answer, &body) != nil {
		return events.Usage{}
	}
	u := body.Usage.Usage
	u.PromptTokens += body.Usage.InputTokens
	u.CompletionTokens += body.Usage.OutputTokens
	if u.TotalTokens == 0 {
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
	}
	return u
}

// part is a piece of a message's text.
type part struct {
	Text string `json:"text"`
}

// Text is what the model wrote in an answer of /v1/chat/completions, /v1/completions, /v1/responses or /v1/messages, its choices one after the other; known is
// false when there is none, as in embeddings and calls of tools.
func Text(answer []byte) (text string, known bool) {
	var body struct {
		Choices []struct {
			Message struct {
				Content *string `json:"content"`
			} `json:"message"`
			Text *string `json:"text"`
		} `json:"choices"`
		Output []struct {
			Content []part `json:"content"`
		} `json:"output"`
		Content []part `json:"content"`
	}
	if json.Unmarshal(answer, &body) != nil {
		return "", false
	}
	var all []string
	for _, c := range body.Choices {
		for _, said := range []*string{c.Message.Content, c.Text} {
			if said != nil {
				all = append(all, *said)
			}
		}
	}
	for _, o := range body.Output {
		body.Content = append(body.Content, o.Content...)
	}
	for _, p := range body.Content {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\x00"), len(all) > 0
}
