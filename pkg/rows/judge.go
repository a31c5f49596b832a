package rows

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// judge applies the rules of the envelope and the body to a line whose grammar is settled.
func (p *Parser) judge(env *envelope, r *Rules) (row Row, fault *Fault) {
	if row.CustomID, fault = env.customID(r); fault != nil {
		return Row{}, fault
	}
	fault = env.judgeMethod()
	if fault == nil {
		row.URL, fault = env.judgeURL(r)
	}
	if fault == nil {
		row.Body, fault = env.judgeBody(r)
	}
	if fault == nil {
		fault = env.judgeReasoning(row.URL)
	}
	if fault == nil {
		row.Model, row.Body, fault = p.settleModel(env, row.Body, r)
	}
	if fault != nil {
		return Row{}, fault.withID(row.CustomID, true)
	}
	return row, nil
}

func (env *envelope) customID(r *Rules) (string, *Fault) {
	if !env.id.ok() {
		return "", env.missing("custom_id")
	}
	id, ok := text(env.id.of(env.line))
	switch {
	case !ok:
		return "", newFault(CodeCustomIDNotString, env.id.at, "custom_id is not a string", "put it in quotes")
	case len(id) == 0:
		return "", newFault(CodeEmptyCustomID, env.id.at, "custom_id is empty", "name each row, so that its result can be found")
	case len(id) > r.MaxIDBytes:
		message := fmt.Sprintf("custom_id has %d bytes, the limit is %d", len(id), r.MaxIDBytes)
		return "", newFault(CodeCustomIDTooLong, env.id.at, message, "shorten it: the row is rejected, as a dead letter, since a result would carry the id")
	}
	return string(id), nil
}

func (env *envelope) judgeMethod() *Fault {
	if !env.method.ok() {
		return env.missing("method")
	}
	method, ok := text(env.method.of(env.line))
	// Four bytes: beyond ASCII, folding would take more letters for an S than the provider does.
	if !ok || len(method) != 4 || !strings.EqualFold(string(method), "POST") {
		return newFault(CodeMethodNotPost, env.method.at, "method is not POST", `write "method":"POST"`)
	}
	return nil
}

// judgeURL returns the allowed url that the row names, as the string of the rules.
func (env *envelope) judgeURL(r *Rules) (string, *Fault) {
	if !env.url.ok() {
		return "", env.missing("url")
	}
	url, ok := text(env.url.of(env.line))
	for _, allowed := range r.URLs {
		if ok && string(url) == allowed {
			return allowed, nil
		}
	}
	hint := "allowed, exactly so: " + strings.Join(r.URLs, ", ")
	return "", newFault(CodeURLNotAllowed, env.url.at, "url is not one of the allowed", hint)
}

func (env *envelope) judgeBody(r *Rules) ([]byte, *Fault) {
	if !env.body.ok() {
		return nil, env.missing("body")
	}
	watch, stream := &env.facts.watch, env.facts.stream
	switch {
	case env.line[env.body.at] != '{':
		hint := "body is the request itself, as an object {…}, not as text"
		return nil, newFault(CodeBodyNotObject, env.body.at, "body is not an object", hint)
	case watch.deepAt > 0:
		return nil, deepFault(watch.deepAt, r.MaxDepth)
	case watch.overAt > 0:
		return nil, newFault(CodeNumberOutOfRange, watch.overAt, "the number is too big for a double", "")
	case string(stream.of(env.line)) == "true":
		hint := "leave it out; each result is one complete answer"
		return nil, newFault(CodeStreamTrue, stream.at, "the body asks for a stream", hint)
	}
	return env.body.of(env.line), nil
}

// settleModel returns the effective model, and the body with that model in it.
func (p *Parser) settleModel(env *envelope, body []byte, r *Rules) (string, []byte, *Fault) {
	at := env.facts.model.at
	if own := env.facts.model.of(env.line); r.Model == "" && present(own) {
		name, ok := text(own)
		if !ok {
			return "", nil, newFault(CodeModelNotString, at, "model is not a string", "")
		}
		if fault := modelLimit(len(name), at, r); fault != nil {
			return "", nil, fault
		}
		model := p.intern(name)
		return model, body, allowed(model, at, r)
	}
	// A rule that is not UTF-8 must at least say the same in the body and in Row.Model, which batches are grouped by.
	model := strings.ToValidUTF8(cmp.Or(r.Model, r.DefaultModel), "\uFFFD")
	if model == "" {
		return "", nil, env.missingModel()
	}
	body = splice(body, 0, "model", appendQuoted(nil, model))
	if len(body) > r.MaxRowBytes {
		message := fmt.Sprintf("with its model the body has %d bytes, the limit is %d", len(body), r.MaxRowBytes)
		return "", nil, newFault(CodeRowTooLarge, -1, message, "")
	}
	if fault := modelLimit(len(model), at, r); fault != nil {
		return "", nil, fault
	}
	return model, body, allowed(model, -1, r)
}

// maxNamed is how many of the allowed models a hint names.
const maxNamed = 8

// allowed is the fault of a row whose model in the end is none of those that its queue allows.
func allowed(model string, at int, r *Rules) *Fault {
	if len(r.Models) == 0 || slices.Contains(r.Models, model) {
		return nil
	}
	hint := "allowed, exactly so: " + strings.Join(r.Models[:min(len(r.Models), maxNamed)], ", ")
	if more := len(r.Models) - maxNamed; more > 0 {
		hint += fmt.Sprintf(" and %d more", more)
	}
	return newFault(CodeModelNotAllowed, at, "the row's model is not one of the allowed", hint)
}

func modelLimit(size, at int, r *Rules) *Fault {
	if size <= r.MaxModelBytes {
		return nil
	}
	message := fmt.Sprintf("model has %d bytes, the limit is %d", size, r.MaxModelBytes)
	return newFault(CodeModelTooLong, at, message, "")
}

func deepFault(at, maxDepth int) *Fault {
	message := fmt.Sprintf("objects and arrays are nested more than %d deep", maxDepth)
	return newFault(CodeTooDeep, at, message, "")
}

// present reports whether a member counts as given: null and "" do not, as many exporters write them for "none".
func present(value []byte) bool {
	return len(value) > 0 && string(value) != "null" && string(value) != `""`
}

// text returns the content of a JSON string, aliasing value when it has no escapes. ok is false for other values.
func text(value []byte) (plain []byte, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1], true
	}
	plain, err := jsontext.AppendUnquote(nil, value)
	return plain, err == nil
}
