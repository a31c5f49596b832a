package rows

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	hintPrepare = "a row is one line; `batchbus prepare` puts objects that span lines on one line each"
	hintUTF8    = "save the file as UTF-8"
	hintShape   = "a row is " + rowShape
	hintWriter  = "write rows with a JSON library, not by putting text together"
	bom         = "\uFEFF"
)

// syntaxFault puts into plain words why jsontext refused the line at offset at. Only bad lines come here, so it may
// take its time.
func syntaxFault(line []byte, at int, err error) *Fault {
	if name := encodingOf(line); name != "" {
		return newFault(CodeUTF16, 0, "the text is "+name+", not UTF-8", hintUTF8)
	}
	rest := line[at:]
	switch r, size := utf8.DecodeRune(rest); {
	case r == utf8.RuneError && size == 1:
		return newFault(CodeInvalidUTF8, at, "a byte that is not UTF-8", hintUTF8)
	case strings.HasPrefix(string(rest[:size]), bom):
		hint := "files were joined: leave the mark out, only the first three bytes of a file may be one"
		return newFault(CodeBOMInside, at, "a byte order mark inside the text", hint)
	}
	if isSurrogateEscape(rest) {
		return newFault(CodeLoneSurrogate, at, "half of a surrogate pair", "text was cut inside a character; cut by characters, not by UTF-16 units")
	}
	if isPiece(line, err) {
		return newFault(CodeMultilineObject, at, "the line is only a piece of an object", hintPrepare)
	}
	message, hint := explain(line, at, err)
	return newFault(CodeInvalidJSON, at, message, hint)
}

// isSurrogateEscape reports whether b starts with an escape \uD800 to \uDFFF.
func isSurrogateEscape(b []byte) bool {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' || b[2]|0x20 != 'd' {
		return false
	}
	hex := b[3] | 0x20
	return b[3] == '8' || b[3] == '9' || 'a' <= hex && hex <= 'f'
}

// isPiece reports whether the line looks like part of an object that was written over several lines: it stops where
// only another token can follow, it goes on after a member's name or an element, or it begins with what only closes.
func isPiece(line []byte, err error) bool {
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return false
	}
	last := text[len(text)-1]
	switch text[0] {
	case '{':
		return errors.Is(err, io.ErrUnexpectedEOF) && strings.IndexByte("{[,:", last) >= 0
	case '}', ']':
		return true
	case '"':
		end, closed := closingQuote(text, 0)
		after := bytes.TrimLeft(text[end:], " \t")
		return closed && len(after) > 0 && (after[0] == ':' || after[0] == ',')
	}
	return last == ',' || last == '['
}

// explain names what stands at the fault. It shows one character of the row at most.
func explain(line []byte, at int, err error) (message, hint string) {
	if errors.Is(err, errTrailing) {
		return trailing(line[at:])
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the line ends inside its object", "it was cut short, or the object spans lines: " + hintPrepare
	}
	if at >= len(line) {
		return "the line is blank", ""
	}
	if isAny(line, "\x1f\x8b", "PK\x03\x04", "\x28\xb5\x2f\xfd") {
		return "the text is compressed", "unpack it first: rows are plain text"
	}
	if first := bytes.TrimLeft(line, " \t\r"); len(first) > 0 && unicode.IsLetter(rune(first[0])) && !isAny(first, "true", "false", "null") {
		return "the line is text, not JSON", hintShape
	}
	r, _ := utf8.DecodeRune(line[at:])
	switch {
	case strings.ContainsRune("“”„‟‘’‚‛«»", r):
		return "a typographic quote " + string(r), `use the plain quote "; word processors replace it`
	case r == '\'':
		return "a single quote", `JSON uses the plain double quote "`
	case isAny(line[at:], "NaN", "Infinity"), r == 'I' && at > 0 && line[at-1] == '-':
		return "NaN or Infinity is no JSON number", "leave the member out, or write null or a number"
	case isAny(line[at:], "True", "False", "None"):
		return "a Python literal", "write with json.dumps, not with str or repr: true, false, null"
	case (r == '}' || r == ']') && lastByte(line[:at]) == ',':
		return "a comma before a closing bracket", "remove it"
	case r < ' ':
		return "a raw control character", `escape it, for instance \n or \t; a JSON writer does`
	case r > utf8.RuneSelf && strings.TrimSpace(string(r)) == "":
		return "a space that is not JSON white space", "only blanks and tabs may stand between tokens"
	case r == '\\':
		return "a backslash that starts no JSON escape", `write \\ for a backslash`
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok && syntax.Err != nil {
		return syntax.Err.Error(), hintWriter
	}
	return "the line is not JSON", hintWriter
}

// trailing explains text that follows the object.
func trailing(rest []byte) (message, hint string) {
	switch r, _ := utf8.DecodeRune(rest); {
	case r == ',':
		return "a comma follows the object", "rows are no array: one row per line, ended by a line feed alone; `batchbus prepare` makes lines of an array"
	case r == '{':
		return "something follows the object", "one row per line, ended by a line feed and by nothing else"
	case r == '\f' || r == '\v' || r > utf8.RuneSelf && strings.TrimSpace(string(r)) == "":
		return "a space that is not JSON white space follows the object", "remove it"
	}
	return "something follows the object", "remove it"
}

func isAny(b []byte, words ...string) bool {
	for _, word := range words {
		if bytes.HasPrefix(b, []byte(word)) {
			return true
		}
	}
	return false
}

// lastByte returns the last byte of b that is no white space, 0 if there is none.
func lastByte(b []byte) byte {
	b = bytes.TrimRight(b, " \t\r\n")
	if len(b) == 0 {
		return 0
	}
	return b[len(b)-1]
}

// encodingOf names the encoding that the first bytes of a text give away, "" for UTF-8. JSON begins with two ASCII
// characters, so the zero bytes tell (RFC 4627, section 3).
func encodingOf(head []byte) string {
	var b [4]byte
	n := copy(b[:], head)
	zero := func(i int) bool { return n == 4 && b[i] == 0 }
	switch {
	case n == 4 && (string(b[:]) == "\xff\xfe\x00\x00" || zero(1) && zero(2) && zero(3) && !zero(0)):
		return "UTF-32LE"
	case n == 4 && (string(b[:]) == "\x00\x00\xfe\xff" || zero(0) && zero(1) && zero(2) && !zero(3)):
		return "UTF-32BE"
	case n >= 2 && b[0] == 0xff && b[1] == 0xfe, zero(1) && zero(3) && !zero(0) && !zero(2):
		return "UTF-16LE"
	case n >= 2 && b[0] == 0xfe && b[1] == 0xff, zero(0) && zero(2) && !zero(1) && !zero(3):
		return "UTF-16BE"
	}
	return ""
}
