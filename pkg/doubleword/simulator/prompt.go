package simulator

import "bytes"

// vocabulary fills answers up; its words carry no meaning.
const vocabulary = `analysis answer approach balance basic batch because brief careful case cause clear common ` +
	`complete concern context data detail different direct early effect entire evidence example expected factor few ` +
	`final first following form general good group however important include input issue known large later level ` +
	`likely limited local main matter measure method model most number often order other overall part pattern point ` +
	`possible present process question range rate reason recent related report result review same sample section ` +
	`several short similar simple single small source specific standard step still strong structure study summary ` +
	`system table term test therefore total typical under use usually value various view whole within work`

// prompt is what the answer refers to: the last user text, and whether an image stands beside it.
type prompt struct {
	text  []byte
	image bool
	// toolRounds is how many calls of tools in a row were answered since the user last spoke.
	toolRounds int
	afterTool  bool // the message before this one was a tool's result: others of it are of the same round
}

// prompt reads messages, input or prompt, whichever the body has, in strings or in parts.
func (a *reply) prompt() prompt {
	var p prompt
	switch input := lookup(a.row.body, inputKey(a.row.endpoint())); {
	case len(input) > 0 && input[0] == '"':
		p.text = unquote(input)
	default:
		for message := range elements(input) {
			p.read(message)
		}
	}
	return p
}

func (p *prompt) read(message []byte) {
	if message[0] == '"' {
		p.text = unquote(message)
		return
	}
	role, kind := string(unquote(lookup(message, "role"))), string(unquote(lookup(message, "type")))
	if role == "tool" || kind == "function_call_output" {
		if !p.afterTool {
			p.toolRounds++
		}
		p.afterTool = true
		return
	}
	p.afterTool = false
	if role != "user" && role != "" {
		return
	}
	rounds := p.toolRounds
	if role == "user" {
		p.toolRounds = 0
	}
	content := lookup(message, "content")
	if len(content) > 0 && content[0] == '"' {
		p.text = unquote(content)
		return
	}
	for part := range elements(content) {
		p.readPart(part, rounds)
	}
}

// readPart also reads the results of tools that stand in a user's message; rounds is how many rounds were before it.
func (p *prompt) readPart(part []byte, rounds int) {
	switch kind := unquote(lookup(part, "type")); {
	case bytes.HasSuffix(kind, []byte("text")):
		p.text = unquote(lookup(part, "text"))
	case bytes.Contains(kind, []byte("image")):
		p.image = true
	case string(kind) == "tool_result":
		p.toolRounds = rounds + 1
	}
}

// appendProse appends an answer in words, at most maxTokens long, and tells whether it was cut.
func (a *reply) appendProse(dst []byte, p prompt, maxTokens int) ([]byte, bool) {
	start := len(dst)
	if p.image {
		dst = append(dst, "The image shows a "...)
		dst = append(append(dst, a.words[a.below(len(a.words))]...), " scene. "...)
	}
	dst = append(dst, "About "...)
	dst = append(appendTopic(dst, p.text), ':')
	for range 12 + a.below(48) {
		dst = append(append(dst, ' '), a.words[a.below(len(a.words))]...)
	}
	return cut(append(dst, '.'), start, maxTokens)
}

// appendTopic appends the first words of the prompt, white space folded.
func appendTopic(dst, text []byte) []byte {
	const most = 8
	n := 0
	for word := range bytes.FieldsSeq(text[:min(len(text), 512)]) {
		if n == most {
			break
		}
		if n > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, word...)
		n++
	}
	if n == 0 {
		return append(dst, "nothing"...)
	}
	return bytes.ToValidUTF8(dst, nil)
}

// cut ends the text that begins at start after maxTokens tokens, not within a character.
func cut(dst []byte, start, maxTokens int) ([]byte, bool) {
	if tokens(len(dst)-start) <= maxTokens {
		return dst, false
	}
	end := start + 4*maxTokens
	for end > start && dst[end]&0xc0 == 0x80 {
		end--
	}
	return dst[:end], true
}
