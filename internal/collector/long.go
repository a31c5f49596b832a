package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// takeLong takes a line that is too long for memory: its answer goes into an object as it comes.
func (r *run) takeLong(ctx context.Context, f file, scanner *doubleword.Scanner, got *reading) error {
	prefix, rest := scanner.Oversize()
	line, _ := doubleword.ParseLine(prefix) // the line is cut, which is an error; what stood before the cut is what is wanted
	place, id, err := r.owner(ctx, &line)
	if err != nil {
		return err
	}
	if id != "" {
		if err := r.answerLong(ctx, &line, place, id, prefix, rest); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, rest); err != nil {
		return &providerError{fmt.Errorf("read long line: %w", err)}
	}
	return r.count(ctx, f, line.CustomID, place >= 0 && id == "", got)
}

// answerLong publishes a long answer, or the failure that stands for a line whose answer cannot be found in its first bytes.
func (r *run) answerLong(ctx context.Context, line *doubleword.Line, place int, id string, prefix []byte, rest io.Reader) error {
	line.Malformed = false
	result := resultOf(line, nil, r.facts())
	result.CustomID, result.Attempt = id, r.entries[place].Attempt
	at, ok := bodyStart(prefix)
	if !ok || line.StatusCode >= http.StatusBadRequest {
		return r.failLong(ctx, place, &result, line.StatusCode)
	}
	head, tail := around(&result)
	body := &valueReader{r: io.MultiReader(bytes.NewReader(prefix[at:]), rest)}
	m := messages.Result(&result, r.entries[place].Source)
	whole := io.MultiReader(bytes.NewReader(head), body, bytes.NewReader(tail))
	object, err := r.s.cfg.Bus.PutObject(ctx, jetstore.StreamResults, m.Subject, whole)
	switch {
	case body.broken != nil:
		return &providerError{fmt.Errorf("read long answer: %w", errors.Join(body.broken, err))}
	case err != nil:
		return refusal(ctx, err)
	}
	object.SetHeader(m.Header)
	delete(r.again, place)
	return r.send(ctx, place, m, tallyOf(&result))
}

// failLong ends a row whose line is too long and holds no answer that could be passed on.
func (r *run) failLong(ctx context.Context, place int, result *events.Result, status int) error {
	result.Outcome, result.StatusCode, result.Truncated = events.Failed, status, false
	result.Error = &events.Error{
		Code: events.CodeTooLarge, StatusCode: status,
		Message: fmt.Sprintf("the provider's line is longer than %d bytes and holds no answer that could be found", r.s.cfg.MaxAnswerBytes),
	}
	return r.end(ctx, place, result)
}

// around renders a result that has no response yet, as what stands before and behind it.
func around(result *events.Result) (head, tail []byte) {
	// Inside a JSON string the quotes would be escaped, so the first match is the member.
	const member = `,"response":`
	whole := messages.ResultEnvelope(result)
	at := bytes.Index(whole, []byte(member+"null")) + len(member)
	return whole[:at], whole[at+len("null"):]
}

// bodyStart is where the answer begins in the first bytes of a line, nested or flat; false when it does not begin there.
func bodyStart(prefix []byte) (int, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(prefix), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return 0, false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return 0, false
		}
		switch {
		case name.String() == "response_body", name.String() == "body" && d.StackDepth() == 2:
			return valueStart(prefix, int(d.InputOffset()))
		case name.String() == "response" && d.PeekKind() == '{':
			_, err = d.ReadToken()
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return 0, false
		}
	}
	return 0, false
}

// valueStart is where the object, array or string begins that follows a name which ends at the offset.
func valueStart(prefix []byte, at int) (int, bool) {
	for at < len(prefix) && bytes.IndexByte([]byte(": \t\r\n"), prefix[at]) >= 0 {
		at++
	}
	return at, at < len(prefix) && bytes.IndexByte([]byte(`{["`), prefix[at]) >= 0
}

// valueReader passes on one JSON object, array or string and ends there, whatever follows it.
type valueReader struct {
	r       io.Reader
	depth   int
	quoted  bool
	escaped bool
	begun   bool
	ended   bool
	broken  error // of the source, or that it ended in the middle of the value
}

// Read implements io.Reader.
func (v *valueReader) Read(p []byte) (int, error) {
	if v.ended {
		return 0, io.EOF
	}
	n, err := v.r.Read(p)
	for i, c := range p[:n] {
		if v.step(c) {
			v.ended = true
			return i + 1, nil
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		v.broken = err
	}
	return n, v.broken
}

// step takes one byte and reports whether the value ends with it.
func (v *valueReader) step(c byte) bool {
	first := !v.begun
	v.begun = true
	switch {
	case v.escaped:
		v.escaped = false
	case v.quoted && c == '\\':
		v.escaped = true
	case c == '"':
		v.quoted = !v.quoted
		return !first && !v.quoted && v.depth == 0
	case v.quoted:
	case c == '{' || c == '[':
		v.depth++
	case c == '}' || c == ']':
		v.depth--
		return v.depth == 0
	}
	return false
}
