package main

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable is text as one line of a terminal may show it. Names of models, subjects, files and the provider's words come from anybody: what
// is no printable character, line feeds, escape sequences and marks that turn the direction of text among them, stands as its escape, so that
// nobody's row can forge a line or move the cursor.
func printable(text string) string {
	if strings.IndexFunc(text, isUnprintable) < 0 && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		r, width := utf8.DecodeRuneInString(text)
		part := text[:width]
		if isUnprintable(r) || r == utf8.RuneError && width == 1 {
			part = strings.Trim(strconv.Quote(part), `"`)
		}
		out.WriteString(part)
		text = text[width:]
	}
	return out.String()
}

func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }
