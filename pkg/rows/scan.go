package rows

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions here walk JSON that jsontext has accepted before. They hop from token to token and check nothing;
// on other input they stay within the slice, but mean nothing.

// span is a piece of a line. The zero span is "absent", since nothing of interest starts at offset 0.
type span struct{ at, end int }

func (s span) ok() bool { return s.end > 0 }

func (s span) of(b []byte) []byte { return b[s.at:s.end:s.end] }

// member is one "name":value of an object. The value's end is found by whoever reads the value.
type member struct {
	name   []byte // name is what stands between the quotes, escapes included.
	nameAt int    // nameAt is the offset of the opening quote.
	at     int    // at is the offset of the value.
}

// is reports whether the member's decoded name is name.
func (m member) is(name string) bool { return string(m.decoded()) == name }

// decoded returns the name with its escapes resolved.
func (m member) decoded() []byte {
	if bytes.IndexByte(m.name, '\\') < 0 {
		return m.name
	}
	quoted := append(append([]byte{'"'}, m.name...), '"')
	plain, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return m.name
	}
	return plain
}

// nextMember returns the member at or after offset i of an object: i is behind the opening brace or behind the last
// value. At the end of the object ok is false and end is the offset behind the closing brace.
func nextMember(b []byte, i int) (m member, end int, ok bool) {
	for i < len(b) && (isSpace(b[i]) || b[i] == ',') {
		i++
	}
	if i >= len(b) || b[i] != '"' {
		return member{}, min(i+1, len(b)), false
	}
	end = stringEnd(b, i)
	m = member{name: b[i+1 : max(end-1, i+1)], nameAt: i}
	for i = end; i < len(b) && (isSpace(b[i]) || b[i] == ':'); {
		i++
	}
	m.at = i
	return m, end, true
}

// stringEnd returns the offset behind the string that starts at offset i.
func stringEnd(b []byte, i int) int {
	end, _ := closingQuote(b, i)
	return end
}

// closingQuote is stringEnd for text that may be broken: closed is false, and end is len(b), when the string does not
// end. It looks for quotes only, so that megabytes of base64 cost what a memory scan costs.
func closingQuote(b []byte, i int) (end int, closed bool) {
	for i++; i < len(b); {
		j := bytes.IndexByte(b[i:], '"')
		if j < 0 {
			break
		}
		slashes := 0
		for slashes < j && b[i+j-1-slashes] == '\\' {
			slashes++
		}
		i += j + 1
		if slashes%2 == 0 {
			return i, true
		}
	}
	return len(b), false
}

// valueEnd returns the offset behind the value that starts at offset i, and tells watch, unless nil, of the numbers
// and the depth met on the way.
func valueEnd(b []byte, i int, watch *watch) int {
	depth := 0
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			i = stringEnd(b, i)
		case c == '{' || c == '[':
			depth++
			watch.level(depth, i)
			i++
			continue
		case c == '}' || c == ']':
			depth--
			i++
		case isNumberStart(c):
			i = watch.number(b, i)
		case isSpace(c) || c == ',' || c == ':':
			i++
			continue
		default:
			i = literalEnd(b, i)
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

func literalEnd(b []byte, i int) int {
	for i++; i < len(b) && 'a' <= b[i] && b[i] <= 'z'; {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func isNumberStart(c byte) bool { return c == '-' || '0' <= c && c <= '9' }
