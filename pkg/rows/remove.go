package rows

import (
	"fmt"
	"strconv"
)

// Remove returns line, which is a row or any other JSON object, without what stands at path, a path as [Splice] has it: a member with its comma (each
// of them, if a name stands there twice), or an element of an array. Every other byte stays as it is. removed is false, and the result a copy of
// line, when nothing stands there.
//
// The result is a new slice, line is not changed. The error is [ErrBody] or, for a path that is empty or not UTF-8, [ErrPath].
func Remove(line []byte, path []string) (out []byte, removed bool, err error) {
	start, err := checkedStart(line, path)
	if err != nil {
		return nil, false, fmt.Errorf("remove: %w", err)
	}
	r := remover{splicer: splicer{text: line}}
	r.remove(start, path)
	return r.end(), r.removed, nil
}

// remover copies valid JSON without what stands where a path leads.
type remover struct {
	splicer
	removed bool
}

// remove takes out what the path names below the value at offset at, and returns the offset behind that value.
func (r *remover) remove(at int, path []string) (end int) {
	switch r.text[at] {
	case '{':
		return r.members(at, path)
	case '[':
		return r.elements(at, path)
	}
	return valueEnd(r.text, at, nil)
}

func (r *remover) members(at int, path []string) (end int) {
	kept, last := false, at+1 // last is behind the value before
	for {
		m, end, ok := nextMember(r.text, last)
		switch {
		case !ok:
			return end
		case !m.is(path[0]):
			last, kept = valueEnd(r.text, m.at, nil), true
		case len(path) > 1:
			last, kept = r.remove(m.at, path[1:]), true
		default:
			last = r.cut(m.nameAt, valueEnd(r.text, m.at, nil), last, kept)
		}
	}
}

func (r *remover) elements(at int, path []string) (end int) {
	index, err := strconv.Atoi(path[0])
	if err != nil {
		index = -1
	}
	for last, n := at+1, 0; ; n++ {
		i := r.pastComma(last)
		switch {
		case r.text[i] == ']':
			return i + 1
		case n != index:
			last = valueEnd(r.text, i, nil)
		case len(path) > 1:
			last = r.remove(i, path[1:])
		default:
			last = r.cut(i, valueEnd(r.text, i, nil), last, n > 0)
		}
	}
}

// cut takes out what stands from at to end, with the comma in front when something is kept there, else with the one behind.
func (r *remover) cut(at, end, last int, kept bool) int {
	r.removed = true
	if kept {
		r.replace(last, end, nil)
		return end
	}
	if next := r.pastComma(end); r.text[next] != '}' && r.text[next] != ']' {
		end = next
	}
	r.replace(at, end, nil)
	return end
}

// pastComma is the offset of the next token that is no comma.
func (s *splicer) pastComma(i int) int {
	for isSpace(s.text[i]) || s.text[i] == ',' {
		i++
	}
	return i
}
