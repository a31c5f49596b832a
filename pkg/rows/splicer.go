package rows

import "strconv"

// splicer copies valid JSON with a value put in where a path leads, in one walk from left to right.
type splicer struct {
	text   []byte
	value  []byte
	out    []byte
	copied int // copied is how much of text is in out, or replaced there.
}

// set puts the value in below the object or array at offset at, and returns the offset behind that.
func (s *splicer) set(at int, path []string) (end int, err error) {
	switch s.text[at] {
	case '{':
		return s.setMember(at, path)
	case '[':
		return s.setElement(at, path)
	case 'n': // null
		s.replace(at, at+len("null"), s.made(path))
		return at + len("null"), nil
	}
	return 0, ErrPath
}

func (s *splicer) setMember(at int, path []string) (end int, err error) {
	found, members := false, 0
	for i := at + 1; ; members++ {
		m, end, ok := nextMember(s.text, i)
		if !ok {
			if !found {
				s.add(at+1, path, members > 0)
			}
			return end, nil
		}
		if !m.is(path[0]) {
			i = valueEnd(s.text, m.at, nil)
			continue
		}
		found = true
		if i, err = s.setValue(m.at, path[1:]); err != nil {
			return 0, err
		}
	}
}

func (s *splicer) setElement(at int, path []string) (end int, err error) {
	index, err := strconv.Atoi(path[0])
	if err != nil || index < 0 {
		return 0, ErrPath
	}
	for i, n := at+1, 0; ; n++ {
		for i < len(s.text) && (isSpace(s.text[i]) || s.text[i] == ',') {
			i++
		}
		switch {
		case s.text[i] == ']' && n <= index:
			return 0, ErrPath
		case s.text[i] == ']':
			return i + 1, nil
		case n != index:
			i = valueEnd(s.text, i, nil)
			continue
		}
		if i, err = s.setValue(i, path[1:]); err != nil {
			return 0, err
		}
	}
}

// setValue puts the value in the place of the one at offset at, or below it.
func (s *splicer) setValue(at int, rest []string) (end int, err error) {
	if len(rest) > 0 {
		return s.set(at, rest)
	}
	end = valueEnd(s.text, at, nil)
	s.replace(at, end, s.value)
	return end, nil
}

// add puts a member in at offset at, behind the brace of its object.
func (s *splicer) add(at int, path []string, more bool) {
	made := s.made(path)
	made = made[1 : len(made)-1]
	if more {
		made = append(made, ',')
	}
	s.replace(at, at, made)
}

// made is the value inside new objects that a path names.
func (s *splicer) made(path []string) []byte {
	var out []byte
	for _, name := range path {
		out = append(appendQuoted(append(out, '{'), name), ':')
	}
	out = append(out, s.value...)
	for range path {
		out = append(out, '}')
	}
	return out
}

// replace puts piece in the place of text[from:to].
func (s *splicer) replace(from, to int, piece []byte) {
	s.out = append(append(s.out, s.text[s.copied:from]...), piece...)
	s.copied = to
}

// end returns the copy.
func (s *splicer) end() []byte { return append(s.out, s.text[s.copied:]...) }
