package rowsets

import (
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/pkg/rows"
)

// By is what parts are made by.
type By struct {
	Rows  int    // Rows is how many a part has at most; 0: any number.
	Bytes int64  // Bytes is how many a part has at most, line feeds counted; a longer row has its own. 0: any number.
	Of    string // Of is "model" or "url": each has a part of its own; "": neither.
	Rules *rows.Rules
}

// BadPart is the name of the part of rows whose model or url cannot be told.
const BadPart = "bad"

// Splitter says which part a row belongs to. It is not safe for concurrent use.
type Splitter struct {
	by     By
	parser rows.Parser
	n      int
	rows   int
	bytes  int64
	names  map[string]string // names are those of parts by model or url.
	taken  map[string]bool   // taken are names in small letters: some systems do not tell them apart.
}

// NewSplitter returns a splitter.
func NewSplitter(by By) *Splitter {
	return &Splitter{by: by, names: make(map[string]string), taken: map[string]bool{BadPart: true}}
}

// Part names the part of the next row: a number of four digits or more, or what can stand in a file's name of its model or url. done says that no
// part before it gets another row.
func (s *Splitter) Part(line []byte) (name string, done bool) {
	if s.by.Of != "" {
		return s.named(line), false
	}
	size := int64(len(line)) + 1
	if s.n == 0 || s.by.Rows > 0 && s.rows == s.by.Rows || s.by.Bytes > 0 && s.bytes+size > s.by.Bytes {
		s.n++
		s.rows, s.bytes, done = 0, 0, true
	}
	s.rows++
	s.bytes += size
	return fmt.Sprintf("%04d", s.n), done
}

func (s *Splitter) named(line []byte) string {
	row, fault := s.parser.Parse(line, s.by.Rules)
	if fault != nil {
		return BadPart
	}
	key := row.Model
	if s.by.Of == "url" {
		key = row.URL
	}
	name, known := s.names[key]
	if !known {
		name = s.free(key)
		s.names[key] = name
	}
	return name
}

// maxNameBytes bounds what of a model stands in a file's name, which systems take up to 255 bytes of.
const maxNameBytes = 100

// free is a name that no other part has.
func (s *Splitter) free(key string) string {
	plain := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '.' || r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}, key)
	plain = strings.Trim(plain[:min(len(plain), maxNameBytes)], "_.")
	name := plain
	for n := 2; name == "" || s.taken[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s-%d", plain, n)
	}
	s.taken[strings.ToLower(name)] = true
	return name
}
