package simulator

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
)

// appendResponse appends an answer of /v1/responses.
func (a *reply) appendResponse(dst []byte) []byte {
	s := a.say(a.integer(unbounded, "max_output_tokens"))
	dst = appendField(dst, `{"created_at":`, int(a.created()))
	dst = append(dst, `,"error":null,"id":`...)
	dst = append(a.appendID(dst, "resp_"), `,"incomplete_details":`...)
	status := "completed"
	if s.cutOff {
		status = "incomplete"
		dst = append(dst, `{"reason":"max_output_tokens"},`...)
	} else {
		dst = append(dst, "null,"...)
	}
	dst = append(a.appendModel(dst), `,"object":"response","output":[`...)
	dst = a.appendOutputItem(dst, s, status)
	dst = append(append(append(dst, `],"status":"`...), status...), '"')
	prompt, output := a.promptTokens(), tokens(len(s.text))
	dst = appendField(dst, `,"usage":{"input_tokens":`, prompt)
	dst = appendField(dst, `,"output_tokens":`, output)
	return append(appendField(dst, `,"total_tokens":`, prompt+output), "}}"...)
}

func (a *reply) appendOutputItem(dst []byte, s said, status string) []byte {
	if s.tool != nil {
		dst = appendString(append(dst, `{"arguments":`...), s.text)
		dst = a.appendID(append(dst, `,"call_id":`...), "call_")
		dst = a.appendID(append(dst, `,"id":`...), "fc_")
		dst = appendString(append(dst, `,"name":`...), s.tool.name)
		return append(dst, `,"status":"completed","type":"function_call"}`...)
	}
	dst = appendString(append(dst, `{"content":[{"annotations":[],"text":`...), s.text)
	dst = a.appendID(append(dst, `,"type":"output_text"}],"id":`...), "msg_")
	dst = append(append(dst, `,"role":"assistant","status":"`...), status...)
	return append(dst, `","type":"message"}`...)
}

// appendMessage appends an answer of /v1/messages.
func (a *reply) appendMessage(dst []byte) []byte {
	s := a.say(a.integer(unbounded, "max_tokens"))
	dst = append(dst, `{"content":[{`...)
	if s.tool != nil {
		dst = a.appendID(append(dst, `"id":`...), "toolu_")
		dst = append(append(dst, `,"input":`...), s.text...)
		dst = append(appendString(append(dst, `,"name":`...), s.tool.name), `,"type":"tool_use"`...)
	} else {
		dst = append(appendString(append(dst, `"text":`...), s.text), `,"type":"text"`...)
	}
	dst = append(a.appendID(append(dst, `}],"id":`...), "msg_"), ',')
	dst = append(a.appendModel(dst), `,"role":"assistant","stop_reason":"`...)
	dst = append(dst, s.finishReason("end_turn", "max_tokens", "tool_use")...)
	dst = append(dst, `","stop_sequence":null,"type":"message","usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(a.promptTokens()), 10)
	return append(appendField(dst, `,"output_tokens":`, tokens(len(s.text))), "}}"...)
}

const (
	defaultDimensions = 1024
	// maxDimensions keeps one answer under a megabyte; no embedding model is known to exceed it.
	maxDimensions = 1 << 16
)

// appendEmbeddings appends one vector per input.
func (a *reply) appendEmbeddings(dst []byte) []byte {
	dimensions := min(a.integer(defaultDimensions, "dimensions"), maxDimensions)
	base64Wanted := string(unquote(lookup(a.row.body, "encoding_format"))) == "base64"
	dst = append(dst, `{"data":[`...)
	for i := range inputs(lookup(a.row.body, "input")) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"embedding":`...)
		if base64Wanted {
			dst = a.appendPacked(dst, dimensions)
		} else {
			dst = a.appendVector(dst, dimensions)
		}
		dst = append(appendField(dst, `,"index":`, i), `,"object":"embedding"}`...)
	}
	dst = append(a.appendModel(append(dst, "],"...)), `,"object":"list"`...)
	n := a.promptTokens()
	dst = appendField(dst, `,"usage":{"prompt_tokens":`, n)
	return append(appendField(dst, `,"total_tokens":`, n), "}}"...)
}

// inputs counts the texts of an embeddings row: a string or one array of tokens is one, an array of either is many.
func inputs(input []byte) int {
	n, nested := 0, false
	for element := range elements(input) {
		nested = nested || element[0] == '"' || element[0] == '['
		n++
	}
	if nested {
		return n
	}
	return 1
}

// component returns the next component in millionths: uniform, so scaled that the vector's length is about one.
func (a *reply) component(dimensions int) int {
	width := int(math.Sqrt(3/float64(dimensions)) * 1e6)
	k := a.below(2*width+1) - width
	if k > -10 && k < 10 {
		return 10 // what is smaller would be written with an exponent
	}
	return k
}

func (a *reply) appendVector(dst []byte, dimensions int) []byte {
	dst = append(dst, '[')
	for i := range dimensions {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendMillionths(dst, a.component(dimensions))
	}
	return append(dst, ']')
}

// appendMillionths writes k/1e6 without trailing zeros. It is a tenth of the cost of a float, and a vector has
// a thousand of them.
func appendMillionths(dst []byte, k int) []byte {
	if k < 0 {
		dst, k = append(dst, '-'), -k
	}
	dst = append(strconv.AppendInt(dst, int64(k/1e6), 10), '.')
	k %= 1e6
	if k == 0 {
		return append(dst, '0')
	}
	for unit := int(1e5); k > 0; unit /= 10 {
		dst = append(dst, byte('0'+k/unit))
		k %= unit
	}
	return dst
}

func (a *reply) appendPacked(dst []byte, dimensions int) []byte {
	packed := make([]byte, 0, 4*dimensions)
	for range dimensions {
		packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(float32(a.component(dimensions))/1e6))
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), packed), '"')
}
