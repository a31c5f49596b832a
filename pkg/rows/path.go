package rows

import (
	"fmt"
	"slices"
	"strings"
)

// ParsePath reads a path for [Splice] as people write it: names with dots between, "body.messages.0.content". A dot or a backslash
// that belongs to a name has a backslash in front. The error is an [ErrPath]: a name is empty.
func ParsePath(text string) ([]string, error) {
	var path []string
	var name strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			name.WriteByte(text[i])
		case c == '.':
			path = append(path, name.String())
			name.Reset()
		default:
			name.WriteByte(c)
		}
	}
	path = append(path, name.String())
	if slices.Contains(path, "") {
		return nil, fmt.Errorf("read path %q: %w", text, ErrPath)
	}
	return path, nil
}
