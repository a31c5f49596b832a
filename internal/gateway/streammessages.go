package gateway

// messages writes the events of Anthropic's messages API.
func (e *emitter) messages() {
	begun := with(with(with(e.whole.text, "content", "[]"), "stop_reason", "null"), "stop_sequence", "null")
	e.typed("message_start", pair{"message", begun})
	for n, block := range objects(e.whole.value("content")) {
		index := pair{"index", number(n)}
		empty, delta := emptyBlock(&block)
		e.typed("content_block_start", index, pair{"content_block", empty})
		if delta != nil {
			e.typed("content_block_delta", index, pair{"delta", delta})
		}
		if signature := block.value("signature"); filled(signature) {
			e.typed("content_block_delta", index, pair{"delta", build(pair{"type", text("signature_delta")}, pair{"signature", signature})})
		}
		e.typed("content_block_stop", index)
	}
	stop := build(pair{"stop_reason", orNull(e.whole.value("stop_reason"))}, pair{"stop_sequence", orNull(e.whole.value("stop_sequence"))})
	e.typed("message_delta", pair{"delta", stop}, pair{"usage", orNull(e.whole.value("usage"))})
	e.typed("message_stop")
}

func (e *emitter) typed(kind string, pairs ...pair) {
	e.out.event(kind, build(append([]pair{{"type", text(kind)}}, pairs...)...))
}

// emptyBlock is a block of content as it begins, and what then comes to it; nil: the block begins as it is.
func emptyBlock(block *object) (empty, delta []byte) {
	switch string(block.value("type")) {
	case `"text"`:
		return with(block.text, "text", `""`), build(pair{"type", text("text_delta")}, pair{"text", orNull(block.value("text"))})
	case `"thinking"`:
		empty = with(with(block.text, "thinking", `""`), "signature", `""`)
		return empty, build(pair{"type", text("thinking_delta")}, pair{"thinking", orNull(block.value("thinking"))})
	case `"tool_use"`:
		input := text(string(orNull(block.value("input")))) // JSON in a string, as it came
		return with(block.text, "input", "{}"), build(pair{"type", text("input_json_delta")}, pair{"partial_json", input})
	default:
		return block.text, nil
	}
}
