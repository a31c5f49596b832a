package gateway

// responses writes the events of the responses API: the response as it began, each item of its output in parts, and the response as it ended.
func (e *emitter) responses() {
	begun := with(with(with(e.whole.text, "output", "[]"), "status", `"in_progress"`), "usage", "null")
	e.numbered("response.created", pair{"response", begun})
	e.numbered("response.in_progress", pair{"response", begun})
	for n, text := range elements(e.whole.value("output")) {
		if item, err := readObject(text); err == nil {
			e.item(number(n), &item)
		}
	}
	e.numbered("response."+endOf(&e.whole), pair{"response", e.whole.text})
}

// endOf is how a response ended: completed, incomplete, failed.
func endOf(response *object) string {
	switch string(response.value("status")) {
	case `"incomplete"`:
		return "incomplete"
	case `"failed"`, `"cancelled"`:
		return "failed"
	default:
		return "completed"
	}
}

// numbered is one event with its place in the stream.
func (e *emitter) numbered(kind string, pairs ...pair) {
	e.out.event(kind, build(append([]pair{{"type", text(kind)}, {"sequence_number", number(e.sequence)}}, pairs...)...))
	e.sequence++
}

// item writes an item of the output: empty, then its parts, then whole.
func (e *emitter) item(index []byte, item *object) {
	place := []pair{{"item_id", orNull(item.value("id"))}, {"output_index", index}}
	added := item.text
	if item.value("status") != nil {
		added = with(added, "status", `"in_progress"`)
	}
	switch string(item.value("type")) {
	case `"message"`:
		e.numbered("response.output_item.added", pair{"output_index", index}, pair{"item", with(added, "content", "[]")})
		for n, part := range objects(item.value("content")) {
			e.part(append(place[:2:2], pair{"content_index", number(n)}), &part)
		}
	case `"function_call"`:
		e.numbered("response.output_item.added", pair{"output_index", index}, pair{"item", with(added, "arguments", `""`)})
		said := orNull(item.value("arguments"))
		e.numbered("response.function_call_arguments.delta", append(place[:2:2], pair{"delta", said})...)
		e.numbered("response.function_call_arguments.done", append(place[:2:2], pair{"name", item.value("name")}, pair{"arguments", said})...)
	default:
		e.numbered("response.output_item.added", pair{"output_index", index}, pair{"item", added})
	}
	e.numbered("response.output_item.done", pair{"output_index", index}, pair{"item", item.text})
}

// part writes a part of a message's content: text, or a refusal.
func (e *emitter) part(place []pair, part *object) {
	name, kind := "text", "response.output_text"
	if string(part.value("type")) == `"refusal"` {
		name, kind = "refusal", "response.refusal"
	}
	said := orNull(part.value(name))
	empty := with(part.text, name, `""`)
	if part.value("annotations") != nil {
		empty = with(empty, "annotations", "[]")
	}
	n := len(place)
	more := pair{}
	if name == "text" {
		more = pair{"logprobs", list()}
	}
	e.numbered("response.content_part.added", append(place[:n:n], pair{"part", empty})...)
	e.numbered(kind+".delta", append(place[:n:n], pair{"delta", said}, more)...)
	e.numbered(kind+".done", append(place[:n:n], pair{name, said}, more)...)
	e.numbered("response.content_part.done", append(place[:n:n], pair{"part", part.text})...)
}
