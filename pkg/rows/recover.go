package rows

import "github.com/go-json-experiment/json/jsontext"

// recoverID looks for the custom_id of a line that was refused at offset faultAt. It follows quotes and brackets only,
// which most faults leave intact. An id that ends before the fault stands in text known to be right; one behind it
// counts only if the line closes all it opened. Two ids that differ count as none: one of them may be a neighbour's,
// and claiming it would cost the neighbour its result.
func recoverID(line []byte, faultAt, maxBytes int) (string, bool) {
	found, balanced := envelopeIDs(line)
	if len(found) == 0 {
		return "", false
	}
	first, ok := text(found[0].of(line))
	ok = ok && jsontext.Value(found[0].of(line)).IsValid()
	for _, other := range found[1:] {
		again, okAgain := text(other.of(line))
		ok = ok && okAgain && string(again) == string(first)
	}
	certain := balanced || found[0].end <= faultAt
	usable := len(first) > 0 && len(first) <= maxBytes
	if !ok || !certain || !usable {
		return "", false
	}
	return string(first), true
}

// envelopeIDs returns the values of the members custom_id at the top level of what may be a broken object, and
// whether all its quotes and brackets match.
func envelopeIDs(line []byte) (found []span, balanced bool) {
	var open []byte
	names := false // names tells that the next string at the top level is a name.
	for i := 0; i < len(line); {
		switch c := line[i]; c {
		case '"':
			end, closed := closingQuote(line, i)
			if !closed {
				return found, false
			}
			if len(open) == 1 && open[0] == '{' && names && (member{name: line[i+1 : end-1]}).is("custom_id") {
				if value := stringAfterColon(line, end); value.ok() {
					found, end = append(found, value), value.end
				}
			}
			names = false
			i = end
			continue
		case '{', '[':
			open = append(open, c)
			names = len(open) == 1
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c-2 {
				return found, false
			}
			open = open[:len(open)-1]
		case ',':
			names = len(open) == 1
		}
		i++
	}
	return found, len(open) == 0
}

// stringAfterColon returns the span of the string that follows a name ending at offset i, if one does.
func stringAfterColon(line []byte, i int) span {
	for i < len(line) && (isSpace(line[i]) || line[i] == ':') {
		i++
	}
	if i >= len(line) || line[i] != '"' {
		return span{}
	}
	if end, closed := closingQuote(line, i); closed {
		return span{i, end}
	}
	return span{}
}
