package rows

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// tinyMaxTokens is the bound below which an answer is hardly ever whole: a paid row, and no answer.
const tinyMaxTokens = 16

// warnings lists what is odd about a good row. twice tells that jsontext saw a duplicate name somewhere.
func (env *envelope) warnings(url string, twice bool) []Warning {
	var list []Warning
	if twice {
		if at := env.bodyDuplicate(); at > 0 {
			list = append(list, Warning{WarnDuplicateBodyKey, "a key stands twice in one object of the body; the last one wins", at + 1})
		}
	}
	if at := env.facts.watch.bigAt; at > 0 {
		list = append(list, Warning{WarnIntegerOutOfRange, "the integer is beyond 64 bits; the provider makes it a float", at + 1})
	}
	return env.tokenWarnings(list, url)
}

// bodyDuplicate returns the offset of the first duplicate name in the body, 0 when the duplicate is elsewhere.
func (env *envelope) bodyDuplicate() int {
	_, err := jsontext.NewDecoder(bytes.NewBuffer(env.body.of(env.line))).ReadValue()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return env.body.at + int(syntax.ByteOffset)
	}
	return 0
}

// tokenWarnings adds a warning when the answer is bounded by nothing, or by next to nothing.
func (env *envelope) tokenWarnings(list []Warning, url string) []Warning {
	f := &env.facts
	var bounds [2]span
	switch url {
	case "/v1/chat/completions":
		bounds = [2]span{f.maxTokens, f.maxCompletion}
	case "/v1/completions", "/v1/messages":
		bounds[0] = f.maxTokens
	case "/v1/responses":
		bounds[0] = f.maxOutput
	default:
		return list
	}
	given := false
	for _, bound := range bounds {
		value := bound.of(env.line)
		if !present(value) {
			continue
		}
		given = true
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n < tinyMaxTokens {
			list = append(list, Warning{WarnTinyMaxTokens, "fewer than 16 tokens are allowed; the answer is likely cut off", bound.at + 1})
		}
	}
	if !given {
		list = append(list, Warning{WarnMissingMaxTokens, "nothing bounds the length of the answer, nor its price", 0})
	}
	return list
}
