package rows

import (
	"bytes"
	"strings"
)

// missing explains the absence of a member of the envelope: first as a misspelling, then as the shape of another
// vendor, else plainly.
func (env *envelope) missing(name string) *Fault {
	names := env.names()
	for _, m := range names {
		if misnames(string(m.decoded()), name) {
			message := "the member " + name + " is missing; there is one that looks like it"
			return newFault(CodeMisnamedField, m.nameAt, message, "rename it to "+name+": names are case-sensitive")
		}
	}
	if vendor, hint := otherVendor(names); vendor != "" {
		return newFault(CodeOtherVendor, names[0].nameAt, "the row has the shape of "+vendor, hint)
	}
	code := map[string]string{
		"custom_id": CodeMissingCustomID, "method": CodeMissingMethod, "url": CodeMissingURL, "body": CodeMissingBody,
	}[name]
	return newFault(code, -1, "the member "+name+" is missing", "a row is "+rowShape)
}

const rowShape = `{"custom_id":"…","method":"POST","url":"/v1/chat/completions","body":{"model":"…",…}}`

// names lists the members of the envelope.
func (env *envelope) names() []member {
	var list []member
	for i := bytes.IndexByte(env.line, '{') + 1; ; {
		m, _, ok := nextMember(env.line, i)
		if !ok {
			return list
		}
		i = valueEnd(env.line, m.at, nil)
		list = append(list, m)
	}
}

// misnames reports whether got is likely meant as want: another case, another separator, or a common synonym.
func misnames(got, want string) bool {
	plain := strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(got))
	switch want {
	case "custom_id":
		return plain == "customid" || plain == "customidentifier" || plain == "id" || plain == "requestid"
	case "method":
		return plain == "method" || plain == "httpmethod" || plain == "verb"
	case "url":
		return plain == "url" || plain == "uri" || plain == "endpoint" || plain == "path"
	case "body":
		return plain == "body" || plain == "payload" || plain == "data" || plain == "requestbody"
	}
	return false
}

// otherVendor recognises the row shapes of other batch services by the names of their members.
func otherVendor(names []member) (vendor, hint string) {
	has := func(name string) bool {
		for _, m := range names {
			if m.is(name) {
				return true
			}
		}
		return false
	}
	switch {
	case has("params") && !has("body"):
		return "Anthropic Message Batches", `rename params to body, and add "method":"POST","url":"/v1/messages"`
	case has("modelInput"):
		return "Amazon Bedrock", `rename recordId to custom_id and modelInput to body, add method and url, and put the model into the body`
	case has("request") && !has("body"):
		return "Google Vertex AI or Gemini", "a row is " + rowShape + "; contents become messages"
	case has("custom_id") && has("body") && !has("method") && !has("url"):
		return "Mistral batches", `add "method":"POST","url":"/v1/chat/completions" to each row, and the model to its body`
	}
	return "", ""
}

// repeatedMember returns the fault of an envelope that has a member twice, whatever its name: which of the two was
// meant is not ours to guess. Duplicates further inside are no fault.
func repeatedMember(line []byte, start int) *Fault {
	env := envelope{line: line[start:]}
	seen := make(map[string]bool)
	for _, m := range env.names() {
		name := string(m.decoded())
		if seen[name] {
			return newFault(CodeDuplicateKey, start+m.nameAt, "a member stands twice in the row", "keep one of the two")
		}
		seen[name] = true
	}
	return nil
}
