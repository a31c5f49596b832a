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

// objects are the objects that text consists of: one or several, with white space, commas and byte order marks between them, or as the elements of
// arrays. It is nil when there is anything else.
func objects(text []byte) (all []span) {
	for at := skip(text, 0); at < len(text); {
		end := valueEnd(text, at)
		switch {
		case end < 0:
			return nil
		case text[at] == '{':
			all = append(all, span{at, end})
		default:
			inner := elements(text[:end], at)
			if inner == nil {
				return nil
			}
			all = append(all, inner...)
		}
		at = skip(text, end)
	}
	return all
}

// elements are the objects of an array that ends text and begins at offset at; nil when it has none, or anything else, or is none.
func elements(text []byte, at int) (all []span) {
	if text[at] != '[' {
		return nil
	}
	for at = skip(text, at+1); text[at] != ']'; at = skip(text, all[len(all)-1].end) {
		if text[at] != '{' {
			return nil
		}
		all = append(all, span{at, valueEnd(text, at)})
	}
	return all
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
	if err := dec.SkipValue(); err != nil {
		return -1
	}
	return at + int(dec.InputOffset())
}
