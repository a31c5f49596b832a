package rows

import (
	"bytes"
	"slices"
)

// joiner hands out the lines of a source, those of one object together.
type joiner struct {
	physical func() (Line, error) // physical is the source; its bytes are valid until its next call.
	limit    int                  // limit bounds the bytes that are held together.
	reuse    bool                 // reuse says that an object need not outlive the next call.
	group    group
	text     []byte // text collects the lines of an object.
	ahead    *step  // ahead is what was read and is not part of the object in front of it.
}

// step is what one call of the source returned.
type step struct {
	line Line
	err  error
}

// next returns the next line or object, and the errors of the source as they are.
func (j *joiner) next() (Line, error) {
	now := j.step()
	if now.err != nil || !j.group.begins(now.line.Bytes) {
		return now.line, now.err
	}
	if !j.reuse {
		j.text = nil
	}
	j.text = append(j.text[:0], now.line.Bytes...)
	for last := now.line.Number; !j.group.complete(); {
		more := j.step()
		line := more.line.Bytes
		gap := more.line.Number - last
		if more.err != nil || len(j.text)+gap+len(line) > j.limit || !j.group.takes(line) {
			j.ahead = &more
			break
		}
		j.text = append(append(j.text, bytes.Repeat([]byte{'\n'}, gap)...), line...)
		last = more.line.Number
	}
	return Line{slices.Clip(j.text), now.line.Number}, nil
}

func (j *joiner) step() step {
	if held := j.ahead; held != nil {
		j.ahead = nil
		return *held
	}
	line, err := j.physical()
	return step{line, err}
}

// group gathers the physical lines of an object that was written over several lines, so that such an object is one row
// with one fault and not a fault for each of its lines (field report P88). It decides line by line, looking at no more
// than a line ahead: a line belongs to the object in front of it if it can go on there by the grammar and could not be a
// row itself. So whatever is broken, a good row is never taken for a piece of its neighbour.
type group struct {
	open []byte // open holds the brackets that are not closed yet.
	last byte   // last is the last byte that is no white space.
}

// begins reports whether a trimmed line begins an object that goes on in the next line, and starts the group with it.
// A row ends in a brace, so that nearly every line is passed over after one look.
func (g *group) begins(line []byte) bool {
	if len(line) == 0 || line[0] != '{' || line[len(line)-1] == '}' {
		return false
	}
	g.open = g.open[:0]
	return g.add(line) && len(g.open) > 0
}

// takes reports whether a trimmed line goes on with the object, and adds it.
func (g *group) takes(line []byte) bool {
	return len(line) > 0 && g.expects(line) && !looksLikeRow(line) && g.add(line)
}

// complete reports whether the object is closed.
func (g *group) complete() bool { return len(g.open) == 0 }

// expects reports whether a line that begins like this one may follow.
func (g *group) expects(line []byte) bool {
	inObject := g.open[len(g.open)-1] == '{'
	switch g.last {
	case ':':
		return isValueStart(line)
	case '{', '[', ',':
		if inObject {
			return line[0] == '"' || line[0] == '}'
		}
		return line[0] == ']' || isValueStart(line)
	}
	return line[0] == ',' || inObject && line[0] == '}' || !inObject && line[0] == ']'
}

// add follows the brackets of a line. It is false, and the group is of no more use, when they do not match or a string
// does not end on the line. What follows the end of the object still belongs to the line.
func (g *group) add(line []byte) bool {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '"':
			end, closed := closingQuote(line, i)
			if !closed {
				return false
			}
			i = end - 1
		case '{', '[':
			g.open = append(g.open, c)
		case '}', ']':
			if len(g.open) == 0 || g.open[len(g.open)-1] != c-2 {
				return false
			}
			if g.open = g.open[:len(g.open)-1]; len(g.open) == 0 {
				return true
			}
		}
	}
	g.last = line[len(line)-1]
	return true
}

// looksLikeRow reports whether a line is an object with a custom_id of its own.
func looksLikeRow(line []byte) bool {
	if line[0] != '{' || bytes.IndexByte(line, ':') < 0 {
		return false
	}
	ids, _ := envelopeIDs(line)
	return len(ids) > 0
}

func isValueStart(line []byte) bool {
	c := line[0]
	return c == '"' || c == '{' || c == '[' || isNumberStart(c) || isAny(line, "true", "false", "null")
}
