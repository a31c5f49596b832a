package events

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. It escapes only what JSON requires (no HTML escapes, no U+2028), and writes U+FFFD for a
// byte that is no UTF-8.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c < ' ' || c == '"' || c == '\\' {
			dst = appendEscape(append(dst, s[start:i]...), c)
			start = i + 1
		}
		i++
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
}

func appendField(dst []byte, name, value string) []byte {
	return AppendString(append(dst, name...), value)
}

// appendText writes null for an empty text.
func appendText(dst []byte, name, value string) []byte {
	if value == "" {
		return append(append(dst, name...), "null"...)
	}
	return appendField(dst, name, value)
}

// appendRaw writes null for no bytes, which alone would be no JSON.
func appendRaw(dst []byte, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, raw...)
}

// appendSmall encodes a value that holds no body or answer.
func appendSmall[T any](dst []byte, v *T) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	return append(dst, encode(v)...)
}

// encode is json.Marshal without HTML escapes. The payload types of this package always encode.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("events: encode: " + err.Error()) // a payload type with a channel or a function: a bug that any test shows
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
