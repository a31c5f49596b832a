package gateway

// chat writes chat.completion.chunk events: of each choice its role, its content with all else that its message holds, each call of a tool and the
// reason of its end; the usage if it was asked for; and [DONE].
func (e *emitter) chat() {
	for _, choice := range objects(e.whole.value("choices")) {
		index := orNull(choice.value("index"))
		message, err := readObject(choice.value("message"))
		if err != nil {
			message = object{}
		}
		e.chunk(index, []pair{{"role", role(&message)}, {"content", beginning(message.value("content"))}}, nil, nil)
		if rest := message.others("role", "tool_calls"); len(rest) > 0 {
			e.chunk(index, rest, nil, choice.value("logprobs"))
		}
		for n, tool := range objects(message.value("tool_calls")) {
			call := append([]pair{{"index", number(n)}}, tool.others("index")...)
			e.chunk(index, []pair{{"tool_calls", list(build(call...))}}, nil, nil)
		}
		e.chunk(index, nil, orNull(choice.value("finish_reason")), nil)
	}
	e.end("chat.completion.chunk")
}

func role(message *object) []byte {
	if value := message.value("role"); value != nil {
		return value
	}
	return []byte(`"assistant"`)
}

// beginning is a content of which nothing has come yet.
func beginning(content []byte) []byte {
	if filled(content) {
		return []byte(`""`)
	}
	return orNull(content)
}

// chunk is one event about one choice.
func (e *emitter) chunk(index []byte, delta []pair, finish, logprobs []byte) {
	choice := build(pair{"index", index}, pair{"delta", build(delta...)}, pair{"logprobs", orNull(logprobs)}, pair{"finish_reason", orNull(finish)})
	e.out.event("", build(append(e.root("chat.completion.chunk"), pair{"choices", list(choice)}, e.noUsage())...))
}

// root is what every chunk begins with.
func (e *emitter) root(kind string) []pair {
	return append([]pair{{"object", text(kind)}}, e.whole.others("object", "choices", "usage")...)
}

// noUsage is the member that chunks have when the last one has the usage.
func (e *emitter) noUsage() pair {
	if e.usage {
		return pair{"usage", []byte("null")}
	}
	return pair{}
}

// end writes the usage, if it was asked for, and the last line.
func (e *emitter) end(kind string) {
	if e.usage {
		e.out.event("", build(append(e.root(kind), pair{"choices", list()}, pair{"usage", orNull(e.whole.value("usage"))})...))
	}
	e.out.event("", []byte("[DONE]"))
}

// completions writes text_completion events: the text of each choice, and the reason of its end.
func (e *emitter) completions() {
	const kind = "text_completion"
	for _, choice := range objects(e.whole.value("choices")) {
		index := orNull(choice.value("index"))
		said := append([]pair{{"finish_reason", []byte("null")}}, choice.others("finish_reason")...)
		ended := build(pair{"finish_reason", orNull(choice.value("finish_reason"))}, pair{"index", index}, pair{"logprobs", []byte("null")}, pair{"text", []byte(`""`)})
		e.out.event("", build(append(e.root(kind), pair{"choices", list(build(said...))}, e.noUsage())...))
		e.out.event("", build(append(e.root(kind), pair{"choices", list(ended)}, e.noUsage())...))
	}
	e.end(kind)
}
