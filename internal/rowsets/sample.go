package rowsets

import (
	"math/rand/v2"
	"slices"
)

// Sample chooses rows by their numbers, each with the same chance. It holds eight bytes for each that it chooses.
type Sample struct {
	size   int
	random *rand.Rand
	chosen []int // chosen are numbers of rows; sorted once Begin was called.
	seen   int
	at     int
}

// NewSample chooses size rows. The same seed chooses the same of as many.
func NewSample(size int, seed uint64) *Sample {
	return &Sample{size: size, random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // a sample is no secret, and has to be drawn again
}

// Count counts a row of the first pass: a reservoir, in which the n-th row takes a random place with chance size/n.
func (s *Sample) Count() {
	if s.seen < s.size {
		s.chosen = append(s.chosen, s.seen)
	} else if place := s.random.IntN(s.seen + 1); place < s.size {
		s.chosen[place] = s.seen
	}
	s.seen++
}

// Begin ends the first pass, and returns how many rows there were.
func (s *Sample) Begin() (seen int) {
	slices.Sort(s.chosen)
	seen, s.seen = s.seen, 0
	return seen
}

// Takes reports whether the next row of the second pass is chosen.
func (s *Sample) Takes() bool {
	takes := s.at < len(s.chosen) && s.chosen[s.at] == s.seen
	if takes {
		s.at++
	}
	s.seen++
	return takes
}
