package rows

// envelope holds where the four members of a row stand in its line.
type envelope struct {
	line   []byte
	id     span
	method span
	url    span
	body   span // body is set even when it is no object.
	facts  bodyFacts
}

// bodyFacts hold where the members of a body stand that batchbus reads; of a duplicate the last one, as at the
// provider.
type bodyFacts struct {
	watch         watch
	model         span
	stream        span
	maxTokens     span
	maxCompletion span // maxCompletion is max_completion_tokens.
	maxOutput     span // maxOutput is max_output_tokens.
	reasoning     reasoningFacts
}

// readEnvelope finds the members of an object that starts at offset start of line.
func readEnvelope(line []byte, start, maxDepth int) envelope {
	env := envelope{line: line}
	env.facts.watch = watch{base: 2, maxDepth: maxDepth}
	for i := start + 1; ; {
		m, _, ok := nextMember(line, i)
		if !ok {
			return env
		}
		i = env.take(m)
	}
}

// take notes a member and returns the offset behind its value.
func (env *envelope) take(m member) int {
	slot := &span{}
	switch string(m.decoded()) {
	case "custom_id":
		slot = &env.id
	case "method":
		slot = &env.method
	case "url":
		slot = &env.url
	case "body":
		slot = &env.body
		if env.line[m.at] == '{' {
			*slot = span{m.at, env.facts.read(env.line, m.at)}
			return slot.end
		}
	}
	*slot = span{m.at, valueEnd(env.line, m.at, nil)}
	return slot.end
}

// read walks the members of the body at offset start and returns the offset behind it.
func (f *bodyFacts) read(line []byte, start int) int {
	f.watch.level(0, start)
	for i := start + 1; ; {
		m, end, ok := nextMember(line, i)
		if !ok {
			return end
		}
		i = valueEnd(line, m.at, &f.watch)
		if slot := f.slot(m); slot != nil {
			*slot = span{m.at, i}
		}
	}
}

func (f *bodyFacts) slot(m member) *span {
	name := m.decoded()
	switch string(name) {
	case "model":
		return &f.model
	case "stream":
		return &f.stream
	case "max_tokens":
		return &f.maxTokens
	case "max_completion_tokens":
		return &f.maxCompletion
	case "max_output_tokens":
		return &f.maxOutput
	}
	return f.reasoning.slot(string(name))
}
