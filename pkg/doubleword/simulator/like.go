package simulator

import "strings"

// like is the provider's search: SQL ILIKE '%pattern%', where % stands for anything, _ for one character and a
// backslash takes the next character as it is.
type like struct{ parts []string }

// newLike compiles a pattern. The empty pattern finds everything.
func newLike(pattern string) like {
	return like{parts: strings.Split(lowered(pattern), "\x00%")}
}

// lowered folds case and marks the wildcards with a NUL, which no searched text can contain.
func lowered(pattern string) string {
	var b strings.Builder
	escaped := false
	for _, r := range strings.ToLower(pattern) {
		if !escaped && r == '\\' {
			escaped = true
			continue
		}
		if !escaped && (r == '%' || r == '_') {
			b.WriteByte(0)
		}
		b.WriteRune(r)
		escaped = false
	}
	return b.String()
}

// finds tells whether text contains the parts in order. Leftmost matches suffice, since both ends are open.
func (l like) finds(text string) bool {
	text = strings.ToLower(text)
	for _, part := range l.parts {
		rest, ok := skipPast(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// skipPast returns what follows the leftmost occurrence of part.
func skipPast(text, part string) (string, bool) {
	if !strings.Contains(part, "\x00_") {
		_, rest, ok := strings.Cut(text, part)
		return rest, ok
	}
	for i := range text {
		if rest, ok := matchHere(text[i:], part); ok {
			return rest, true
		}
	}
	return "", false
}

func matchHere(text, part string) (string, bool) {
	for part != "" {
		if text == "" {
			return "", false
		}
		char := text[:len(firstRune(text))]
		switch {
		case strings.HasPrefix(part, "\x00_"):
			part = part[2:]
		case strings.HasPrefix(part, char):
			part = part[len(char):]
		default:
			return "", false
		}
		text = text[len(char):]
	}
	return text, true
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}
