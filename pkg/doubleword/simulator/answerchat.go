package simulator

import (
	"bytes"
	"cmp"
	"slices"
)

// unbounded is the token limit of a body that sets none.
const unbounded = 1 << 30

// truncatedTokens is how far an answer comes that a fault truncates: fewer than any prose has.
const truncatedTokens = 4

// tool is a function that the row offers to the model.
type tool struct{ name, parameters []byte }

// said is what the model came to say: words, or a call of a tool. Text is unquoted.
type said struct {
	text   []byte
	tool   *tool
	cutOff bool
}

// say decides what the model says, for any of the chat-like endpoints.
func (a *reply) say(maxTokens int) said {
	p, cutShort := a.prompt(), a.odd.has(FaultTruncated)
	if cutShort {
		maxTokens = min(maxTokens, truncatedTokens)
	}
	if t, ok := a.nextTool(p); ok && !cutShort {
		arguments := a.newInstance(t.parameters).append(nil, t.parameters, 0)
		return said{text: arguments, tool: &t}
	}
	var s said
	if schema, asked := a.schema(); asked {
		s.text, s.cutOff = cut(a.newInstance(schema).append(nil, schema, 0), 0, maxTokens)
		s.cutOff = s.cutOff || cutShort
		return s
	}
	s.text, s.cutOff = a.appendProse(nil, p, maxTokens)
	return s
}

// schema is the JSON schema the answer must follow: chat's response_format or responses' text.format.
func (a *reply) schema() ([]byte, bool) {
	format := lookup(a.row.body, "response_format")
	if absent(format) {
		format = lookup(a.row.body, "text", "format")
	}
	switch string(unquote(lookup(format, "type"))) {
	case "json_schema":
		if schema := lookup(format, "json_schema", "schema"); schema != nil {
			return schema, true
		}
		return lookup(format, "schema"), true
	case "json_object":
		return []byte(`{"type":"object","properties":{"answer":{"type":"string"},"confidence":{"type":"number","minimum":0,"maximum":1}}}`), true
	}
	return nil, false
}

// nextTool is the tool that the model calls before it answers: in one round after another those whose names the user wrote, or one alone.
func (a *reply) nextTool(p prompt) (tool, bool) {
	t, ok := a.chosenTool()
	if !ok || a.mustCall() {
		return t, ok
	}
	named := a.namedTools(p.text)
	switch {
	case len(named) == 0:
		return t, p.toolRounds == 0
	case p.toolRounds < len(named):
		return named[p.toolRounds], true
	}
	return tool{}, false
}

// mustCall tells whether tool_choice makes the model call a tool whatever it knows already.
func (a *reply) mustCall() bool {
	choice := lookup(a.row.body, "tool_choice")
	kind := string(unquote(lookup(choice, "type")))
	return string(choice) == `"required"` || kind == "function" || kind == "tool" || kind == "any"
}

// namedTools are the tools whose names stand in the text, in the order in which they stand there first.
func (a *reply) namedTools(text []byte) []tool {
	var named []tool
	for entry := range elements(lookup(a.row.body, "tools")) {
		if t := readTool(entry); len(t.name) > 0 && bytes.Contains(text, t.name) {
			named = append(named, t)
		}
	}
	slices.SortStableFunc(named, func(a, b tool) int {
		return cmp.Compare(bytes.Index(text, a.name), bytes.Index(text, b.name))
	})
	return named
}

// chosenTool is the tool that tool_choice names, else the first.
func (a *reply) chosenTool() (tool, bool) {
	choice := lookup(a.row.body, "tool_choice")
	if string(choice) == `"none"` || string(unquote(lookup(choice, "type"))) == "none" {
		return tool{}, false
	}
	wanted := unquote(lookup(choice, "function", "name"))
	if wanted == nil {
		wanted = unquote(lookup(choice, "name"))
	}
	for entry := range elements(lookup(a.row.body, "tools")) {
		t := readTool(entry)
		if t.name != nil && (wanted == nil || string(wanted) == string(t.name)) {
			return t, true
		}
	}
	return tool{}, false
}

// readTool understands chat's nested function, responses' flat one and messages' input_schema.
func readTool(entry []byte) tool {
	if f := lookup(entry, "function"); f != nil {
		entry = f
	}
	t := tool{name: unquote(lookup(entry, "name")), parameters: lookup(entry, "parameters")}
	if t.parameters == nil {
		t.parameters = lookup(entry, "input_schema")
	}
	if absent(t.parameters) {
		t.parameters = []byte(`{"type":"object"}`)
	}
	return t
}

func (s said) finishReason(stop, length, call string) string {
	switch {
	case s.tool != nil:
		return call
	case s.cutOff:
		return length
	default:
		return stop
	}
}

func (a *reply) appendChat(dst []byte) []byte {
	limit := a.integer(unbounded, "max_completion_tokens", "max_tokens")
	completion := 0
	dst = append(dst, `{"choices":[`...)
	for i := range a.integer(1, "n") {
		if i > 0 {
			dst = append(dst, ',')
		}
		s := a.say(limit)
		completion += tokens(len(s.text))
		dst = a.appendChoice(dst, i, s)
	}
	dst = appendField(dst, `],"created":`, int(a.created()))
	dst = append(a.appendID(append(dst, `,"id":`...), "chatcmpl-"), ',')
	dst = append(a.appendModel(dst), `,"object":"chat.completion"`...)
	return append(appendUsage(dst, a.promptTokens(), completion), '}')
}

func (a *reply) appendChoice(dst []byte, index int, s said) []byte {
	dst = append(dst, `{"finish_reason":"`...)
	dst = append(dst, s.finishReason("stop", "length", "tool_calls")...)
	dst = appendField(dst, `","index":`, index)
	if s.tool == nil {
		dst = appendString(append(dst, `,"logprobs":null,"message":{"content":`...), s.text)
		return append(dst, `,"role":"assistant"}}`...)
	}
	dst = append(dst, `,"logprobs":null,"message":{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":`...)
	dst = appendString(append(appendString(dst, s.text), `,"name":`...), s.tool.name)
	dst = a.appendID(append(dst, `},"id":`...), "call_")
	return append(dst, `,"type":"function"}]}}`...)
}

// appendUsage appends the usage of the OpenAI chat and completion shapes.
func appendUsage(dst []byte, prompt, completion int) []byte {
	dst = appendField(dst, `,"usage":{"completion_tokens":`, completion)
	dst = appendField(dst, `,"prompt_tokens":`, prompt)
	return append(appendField(dst, `,"total_tokens":`, prompt+completion), '}')
}

func (a *reply) appendCompletion(dst []byte) []byte {
	limit := a.integer(16, "max_tokens") // the endpoint's own default
	if a.odd.has(FaultTruncated) {
		limit = min(limit, truncatedTokens)
	}
	completion := 0
	dst = append(dst, `{"choices":[`...)
	for i := range a.integer(1, "n") {
		if i > 0 {
			dst = append(dst, ',')
		}
		text, cutOff := a.appendProse(nil, a.prompt(), limit)
		completion += tokens(len(text))
		reason := said{cutOff: cutOff}.finishReason("stop", "length", "")
		dst = append(append(dst, `{"finish_reason":"`...), reason...)
		dst = appendField(dst, `","index":`, i)
		dst = append(appendString(append(dst, `,"logprobs":null,"text":`...), text), '}')
	}
	dst = appendField(dst, `],"created":`, int(a.created()))
	dst = append(a.appendID(append(dst, `,"id":`...), "cmpl-"), ',')
	dst = append(a.appendModel(dst), `,"object":"text_completion"`...)
	return append(appendUsage(dst, a.promptTokens(), completion), '}')
}
