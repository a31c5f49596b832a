package rows

import (
	"bytes"
	"strings"
)

// missing explains the absence of a member of the envelope: first as a misspelling, then as the shape of another
// vendor, else plainly.
func (env *envelope) missing(name string) *Fault {
	names := namesOf(env.line, bytes.IndexByte(env.line, '{'))
	if fault := misnamed(names, name); fault != nil {
		return fault
	}
	if vendor, hint := otherVendor(names); vendor != "" {
		return newFault(CodeOtherVendor, names[0].nameAt, "the row has the shape of "+vendor, hint)
	}
	code := map[string]string{
		"custom_id": CodeMissingCustomID, "method": CodeMissingMethod, "url": CodeMissingURL, "body": CodeMissingBody,
	}[name]
	return newFault(code, -1, "the member "+name+" is missing", hintShape)
}

const rowShape = `{"custom_id":"…","method":"POST","url":"/v1/chat/completions","body":{"model":"…",…}}`

// missingModel explains a body without a model, where no default stands in for it.
func (env *envelope) missingModel() *Fault {
	if fault := misnamed(namesOf(env.line, env.body.at), "model"); fault != nil && !env.facts.model.ok() {
		return fault
	}
	hint := "add it to the body, or set a default for the queue or the job"
	return newFault(CodeMissingModel, env.body.at, "the body has no model", hint)
}

// misnamed is the fault of a member that stands there under another name, if one does.
func misnamed(names []member, want string) *Fault {
	for _, m := range names {
		if misnames(string(m.decoded()), want) {
			message := "the member " + want + " is missing; there is one that looks like it"
			return newFault(CodeMisnamedField, m.nameAt, message, "rename it to "+want+": names are case-sensitive")
		}
	}
	return nil
}

// namesOf lists the members of the object at offset start.
func namesOf(line []byte, start int) []member {
	var list []member
	for i := start + 1; ; {
		m, _, ok := nextMember(line, i)
		if !ok {
			return list
		}
		i = valueEnd(line, m.at, nil)
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
	case "model":
		return plain == "model" || plain == "modelid" || plain == "modelname" || plain == "deployment"
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
	case has("batch_request"):
		return "xAI batches", "a row is " + rowShape + "; what stands in batch_request becomes the body"
	case has("response") && !has("body"):
		return "a result, not of a request", "publish the requests; " + rowShape
	case (has("messages") || has("prompt") || has("input")) && !has("body"):
		return "a request without its envelope", "put it into the body of a row: " + rowShape
	case has("custom_id") && has("body") && !has("method") && !has("url"):
		return "Mistral, Together or Fireworks batches", `add "method":"POST","url":"/v1/chat/completions" to each row, and the model to its body`
	}
	return "", ""
}

// repeatedMember returns the fault of an envelope that has a member twice, whatever its name: which of the two was
// meant is not ours to guess. Duplicates further inside are no fault.
func repeatedMember(line []byte, start int) *Fault {
	seen := make(map[string]bool)
	for _, m := range namesOf(line, start) {
		name := string(m.decoded())
		if seen[name] {
			return newFault(CodeDuplicateKey, m.nameAt, "a member stands twice in the row", "keep one of the two")
		}
		seen[name] = true
	}
	return nil
}
