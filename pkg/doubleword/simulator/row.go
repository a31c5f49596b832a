package simulator

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// envelope is one uploaded row, read as strictly as the provider reads it.
type envelope struct {
	customID []byte
	method   []byte
	url      []byte
	body     []byte // canonical
}

// rowReader turns lines into envelopes, reusing its buffers: an envelope lives until the next call.
type rowReader struct {
	json canonical
	seen [4]bool
}

// read decodes one line. Its error text is the part after "Invalid JSON on line n: ".
func (r *rowReader) read(line []byte) (envelope, error) {
	r.json.reset(line)
	r.json.out = r.json.out[:0]
	r.seen = [4]bool{}
	env, err := r.envelope()
	if err == nil {
		err = r.json.end()
	}
	if err != nil {
		return env, r.describe(err, line)
	}
	return env, nil
}

func (r *rowReader) envelope() (envelope, error) {
	var env envelope
	dec := r.json.dec
	if kind := dec.PeekKind(); kind != '{' {
		return env, r.wrongType("struct TemplateRow")
	}
	if err := r.json.skipToken(); err != nil {
		return env, err
	}
	for dec.PeekKind() != '}' {
		if err := r.field(&env); err != nil {
			return env, err
		}
	}
	if err := r.json.skipToken(); err != nil {
		return env, err
	}
	for i, name := range fieldNames() {
		if !r.seen[i] {
			return env, fmt.Errorf("missing field `%s`", name)
		}
	}
	return env, nil
}

func fieldNames() [4]string { return [4]string{"custom_id", "method", "url", "body"} }

func (r *rowReader) field(env *envelope) error {
	raw, err := r.json.readValue()
	if err != nil {
		return err
	}
	name := string(unquote(raw))
	for i, known := range fieldNames() {
		if name != known {
			continue
		}
		if r.seen[i] {
			return fmt.Errorf("duplicate field `%s`", name)
		}
		r.seen[i] = true
		if name == "body" {
			start := len(r.json.out)
			err := r.json.value(edited)
			env.body = r.json.out[start:]
			return err
		}
		text, err := r.text()
		switch name {
		case "custom_id":
			env.customID = text
		case "method":
			env.method = text
		default:
			env.url = text
		}
		return err
	}
	_, err = r.json.readValue()
	return err
}

func (r *rowReader) text() ([]byte, error) {
	if r.json.dec.PeekKind() != '"' {
		return nil, r.wrongType("a string")
	}
	raw, err := r.json.readValue()
	if err != nil {
		return nil, err
	}
	return bytes.Clone(unquote(raw)), nil
}

// edited names the top-level keys that the provider removes from a body before it stores it.
func edited(key []byte) bool {
	switch string(key) {
	case "priority", "service_tier", "background":
		return true
	}
	return false
}

func (r *rowReader) wrongType(want string) error {
	raw, err := r.json.readValue()
	if err != nil {
		return err
	}
	names := map[jsontext.Kind]string{
		'n': "null", 't': "boolean `true`", 'f': "boolean `false`", '"': "string", '0': "number", '[': "sequence", '{': "map",
	}
	name := names[raw.Kind()]
	if raw.Kind() == '0' && !bytes.ContainsAny(raw, ".eE") {
		name = "integer `" + string(raw) + "`"
	}
	return fmt.Errorf("invalid type: %s, expected %s", name, want)
}

// describe words a decoding error in the manner of the provider's decoder, with the column where it stopped.
func (r *rowReader) describe(err error, line []byte) error {
	var syntax *jsontext.SyntacticError
	column := r.json.dec.InputOffset()
	if !errors.As(err, &syntax) {
		return fmt.Errorf("%w at line 1 column %d", err, column)
	}
	column = syntax.ByteOffset
	text := "expected value"
	reason := syntax.Err.Error()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		text, column = "EOF while parsing a value", int64(len(line))
	case strings.Contains(reason, "literal"):
		text = "expected ident"
	case strings.Contains(reason, "surrogate"):
		text = "lone leading surrogate in hex escape"
	case strings.Contains(reason, "escape"):
		text = "invalid escape"
	case strings.Contains(reason, "within string"):
		text = "control character (\\u0000-\\u001F) found while parsing a string"
	case strings.Contains(reason, "expecting"):
		text = "expected `,` or `}`"
	}
	return fmt.Errorf("%s at line 1 column %d", text, column+1)
}

// appendLine appends the row as it is stored and read back: four keys, the body canonical, one LF.
func (e envelope) appendLine(dst []byte) []byte {
	dst = appendString(append(dst, `{"custom_id":`...), e.customID)
	dst = appendString(append(dst, `,"method":`...), e.method)
	dst = appendString(append(dst, `,"url":`...), e.url)
	dst = append(append(dst, `,"body":`...), e.body...)
	return append(dst, "}\n"...)
}
