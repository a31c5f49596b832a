package refused

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/batchbus/batchbus/pkg/events"
)

// AppendJSON appends the JSON of e to dst, on one line. With the payload it has a field more: "payload" when that is UTF-8, else
// "payload_base64", or "payload_gone", why there is none.
func (e *Entry) AppendJSON(dst []byte, withPayload bool) []byte {
	var buf bytes.Buffer
	out := json.NewEncoder(&buf)
	out.SetEscapeHTML(false)
	if err := out.Encode(e); err != nil {
		panic("refused: encode: " + err.Error()) // texts, numbers and times of this century always encode
	}
	dst = append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("}\n"))...)
	switch {
	case !withPayload:
	case e.Lost != "":
		dst = events.AppendString(append(dst, `,"payload_gone":`...), e.Lost)
	case utf8.Valid(e.Payload):
		dst = events.AppendString(append(dst, `,"payload":`...), string(e.Payload))
	default:
		dst = append(dst, `,"payload_base64":"`...)
		dst = append(base64.StdEncoding.AppendEncode(dst, e.Payload), '"')
	}
	return append(dst, '}')
}

// IsSource reports whether text can be a source: 32 hexadecimal characters.
func IsSource(text string) bool {
	_, ok := hashOf(text)
	return ok
}
