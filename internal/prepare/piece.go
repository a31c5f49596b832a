package prepare

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// piece is the text of one row where it stands in its file.
type piece struct {
	text   []byte // text may have line feeds between tokens; it is valid until the next piece.
	line   int    // line and column are where it begins, from 1.
	column int
	size   int64 // size is the length of a row over the limit, of which text is the beginning; 0 for others.
	again  int   // again counts the rows that begin on the same line before it.
}

// place is the line and the column of an offset of the text.
func (p *piece) place(offset int) (line, column int) {
	before := p.text[:min(max(offset, 0), len(p.text))]
	newline := bytes.LastIndexByte(before, '\n')
	if newline < 0 {
		return p.line, p.column + len(before)
	}
	return p.line + bytes.Count(before, []byte{'\n'}), len(before) - newline
}

// spaced is the text as one line, of the same length: a line feed can stand between tokens only.
func (p *piece) spaced() []byte {
	if bytes.IndexByte(p.text, '\n') < 0 {
		return p.text
	}
	return bytes.ReplaceAll(p.text, []byte{'\n'}, []byte{' '})
}

// compact is valid JSON without the white space between its tokens.
func compact(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		end := i + 1
		if text[i] == '"' {
			end = stringEnd(text, i)
		}
		if c := text[i]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			out = append(out, text[i:end]...)
		}
		i = end
	}
	return out
}

// stringEnd is the offset behind the string that begins at offset i of valid JSON.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// span is a part of a text.
type span struct{ at, end int }

// objects are the objects that text consists of: one or several, with white space, commas and byte order marks between them, perhaps as the
// elements of one array. It is nil when there is anything else.
func objects(text []byte) []span {
	if inner, isArray := elements(text); isArray {
		return inner
	}
	var all []span
	for at := skip(text, 0); at < len(text); {
		end := valueEnd(text, at)
		if text[at] != '{' || end < 0 {
			return nil
		}
		all = append(all, span{at, end})
		at = skip(text, end)
	}
	return all
}

// elements are the objects of a text that is one array of them.
func elements(text []byte) (all []span, isArray bool) {
	start := skip(text, 0)
	if start == len(text) || text[start] != '[' || valueEnd(text, start) < 0 {
		return nil, false
	}
	for at := skip(text, start+1); text[at] != ']'; {
		if text[at] != '{' {
			return nil, true
		}
		end := valueEnd(text, at)
		all = append(all, span{at, end})
		at = skip(text, end)
	}
	return all, true
}

// skip is the offset of what is neither white space nor a comma nor a byte order mark.
func skip(text []byte, at int) int {
	for at < len(text) {
		switch c := text[at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',':
			at++
		case bytes.HasPrefix(text[at:], []byte(bom)):
			at += len(bom)
		default:
			return at
		}
	}
	return at
}

// bom is a byte order mark in UTF-8.
const bom = "\uFEFF"

// valueEnd is the offset behind the JSON value that begins at offset at, -1 when there is none. Names and encoding are not judged here.
func valueEnd(text []byte, at int) int {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text[at:]), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	value, err := dec.ReadValue()
	if err != nil {
		return -1
	}
	return at + int(dec.InputOffset()-int64(len(value))) + len(value)
}
