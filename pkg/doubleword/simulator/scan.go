package simulator

import (
	"bytes"
	"iter"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions of this file read stored rows. A stored row is canonical JSON that was validated on the way in, so
// they check nothing: rendering answers must not cost a full decode per row.

// valueEnd returns where the value at the start of b ends.
func valueEnd(b []byte) int {
	switch b[0] {
	case '"':
		return stringEnd(b)
	case '{', '[':
		depth := 0
		for i := 0; i < len(b); {
			switch b[i] {
			case '"':
				i += stringEnd(b[i:])
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			i++
			if depth == 0 {
				return i
			}
		}
		return len(b)
	}
	if i := bytes.IndexAny(b, ",]}"); i >= 0 {
		return i
	}
	return len(b)
}

func stringEnd(b []byte) int {
	for i := 1; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// members yields the keys (as written, without quotes) and values of an object; nothing for any other value.
func members(obj []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if len(obj) == 0 || obj[0] != '{' {
			return
		}
		for i := 1; i < len(obj) && obj[i] == '"'; i++ {
			k := i + stringEnd(obj[i:])
			v := k + 1 + valueEnd(obj[k+1:])
			if !yield(obj[i+1:k-1], obj[k+1:v]) {
				return
			}
			i = v
		}
	}
}

// elements yields the values of an array; nothing for any other value.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		if len(array) == 0 || array[0] != '[' {
			return
		}
		for i := 1; i < len(array) && array[i] != ']'; i++ {
			end := i + valueEnd(array[i:])
			if !yield(array[i:end]) {
				return
			}
			i = end
		}
	}
}

// lookup returns the value at a path of keys, nil when there is none.
func lookup(value []byte, path ...string) []byte {
	for _, want := range path {
		found := []byte(nil)
		for key, v := range members(value) {
			if string(key) == want {
				found = v
				break
			}
		}
		value = found
	}
	return value
}

// unquote returns the text of a string value, nil for any other value.
func unquote(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, value) // validated on the way in
	return text
}

// number returns the value of a number, and false for any other value.
func number(value []byte) (float64, bool) {
	if len(value) == 0 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(value), 64)
	return f, err == nil
}

// absent tells whether a value is missing or null.
func absent(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// appendString appends text as the provider writes strings: only what must be escaped is.
func appendString[T ~[]byte | ~string](dst []byte, text T) []byte {
	return append(appendEscaped(append(dst, '"'), text), '"')
}

func appendEscaped[T ~[]byte | ~string](dst []byte, text T) []byte {
	const digits = "0123456789abcdef"
	start := 0
	for i := range len(text) {
		c := text[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[start:i]...)
		start = i + 1
		if short := shortEscape(c); short != 0 {
			dst = append(dst, '\\', short)
			continue
		}
		dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
	return append(dst, text[start:]...)
}

func shortEscape(c byte) byte {
	switch c {
	case '"', '\\':
		return c
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	}
	return 0
}
