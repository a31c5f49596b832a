package submit

import (
	"errors"
	"math/bits"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

// moody is a provider that refuses files that hold one of its bad rows, and all files of the tries from shutAt to openAt.
type moody struct {
	bad            []int
	tries, rows    int
	shutAt, openAt int
}

func (m *moody) try(from, to int) error {
	m.tries++
	m.rows += to - from
	odd := slices.ContainsFunc(m.bad, func(row int) bool { return from <= row && row < to })
	if odd || m.shutAt <= m.tries && m.tries < m.openAt {
		return refused(400, "no")
	}
	return nil
}

func TestARowThatNobodyNamesIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(2, 300).Draw(t, "rows")
		m := &moody{bad: []int{rapid.IntRange(0, rows-1).Draw(t, "bad")}}
		if rows > 2*controls && rapid.Bool().Draw(t, "several") {
			m.bad = append(m.bad, rapid.IntRange(0, rows-1).Draw(t, "another"))
		}
		row, refusal, err := findRow(rows, m.try)
		if err != nil || refusal == nil || !slices.Contains(m.bad, row) {
			t.Fatalf("row %d, refusal %v, error %v", row, refusal, err)
		}
		if m.tries > controls+bits.Len(uint(rows))+3 || m.rows > rows+controls+3 {
			t.Fatalf("%d tries of %d rows together for a file of %d", m.tries, m.rows, rows)
		}
	})
}

func TestAnAccountThatIsRefusedCostsNoRow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(2, 300).Draw(t, "rows")
		m := &moody{shutAt: rapid.IntRange(1, 20).Draw(t, "shut")}
		m.openAt = m.shutAt + rapid.IntRange(1, 30).Draw(t, "for")
		if row, _, err := findRow(rows, m.try); err == nil {
			t.Fatalf("row %d of good ones was found to be refused, in %d tries", row, m.tries)
		}
	})
}

func TestWhatIsNoRefusalOfARowEndsTheSearch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows int
		try  func(nth, from, to int) error
		want error
	}{
		"nothing is taken":                    {50, func(int, int, int) error { return refused(400, "no") }, errNoneTaken},
		"every part is taken":                 {50, func(int, int, int) error { return nil }, errAllTaken},
		"the rows are too much together":      {50, func(_, from, to int) error { return map[bool]error{true: refused(422, "no")}[to-from > 20] }, errAllTaken},
		"the account is limited meanwhile":    {50, func(nth, _, _ int) error { return map[bool]error{true: refused(429, "no")}[nth > 3] }, nil},
		"a row is taken and refused by turns": {2, func(nth, _, _ int) error { return map[bool]error{true: refused(400, "no")}[nth != 1 && nth != 4] }, errNoneTaken},
		"the account is limited at once":      {50, func(int, int, int) error { return refused(429, "no") }, nil},
		"the key is refused at the last try":  {2, func(nth, from, _ int) error { return map[bool]error{true: refused(401, "no")}[nth > 3] }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nth := 0
			_, refusal, err := findRow(c.rows, func(from, to int) error { nth++; return c.try(nth, from, to) })
			if refusal != nil || err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("refusal %v, error %v after %d tries", refusal, err, nth)
			}
		})
	}
}

func cutRows(l limit, sizes ...int) []int {
	c := cutter{limit: l}
	for i, size := range sizes {
		c.add(i, &block.Entry{CustomID: "a", Size: size})
	}
	return c.starts
}

func TestRowsAreCutSoThatTheFilesKeepToTheLimit(t *testing.T) {
	t.Parallel()
	line := func(place, size int) int64 {
		return manifest.LineSize(place, &block.Entry{CustomID: "a", Size: size}, false)
	}
	two := line(0, 100) + line(1, 100)
	many, alike, twelve := make([]int, 500), make([]int, 24), int64(0)
	for place := range 12 {
		twelve += line(place, 0)
	}
	for name, c := range map[string]struct {
		limit limit
		sizes []int
		want  []int
	}{
		"exactly at the limit":                     {limit{bytes: two}, []int{100, 100, 100, 100, 100}, []int{0, 2, 4}},
		"exactly at it, by places that begin anew": {limit{bytes: twelve}, alike, []int{0, 12}},
		"one byte below it":                        {limit{bytes: two - 1}, []int{100, 100, 100}, []int{0, 1, 2}},
		"a row over it is alone":                   {limit{bytes: two}, []int{100, 900, 100}, []int{0, 1, 2}},
		"the first row over it":                    {limit{bytes: 1}, []int{100, 100}, []int{0, 1}},
		"by rows":                                  {limit{rows: 2}, []int{1, 1, 1, 1, 1}, []int{0, 2, 4}},
		"whichever is met first":                   {limit{rows: 2, bytes: 300}, []int{1, 1, 1, 250, 250}, []int{0, 2, 4}},
		"as many files as may be":                  {limit{rows: 1}, many, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := cutRows(c.limit, c.sizes...); c.want != nil && !slices.Equal(got, c.want) || len(got) > maxParts {
				t.Errorf("files begin at %v, want %v", got, c.want)
			}
		})
	}
}

func TestPartsHoldEveryRowOnceAndOneLimitOrNoneIsAlwaysProgress(t *testing.T) {
	t.Parallel()
	entries := make([]manifest.Entry, 7)
	for i := range entries {
		entries[i].Place.Index = i
	}
	for _, starts := range [][]int{nil, {0}, {0, 3}, {0, 1, 6}} {
		parts := (&cutter{starts: starts}).parts(entries)
		if len(parts) < 2 || len(parts[0]) == 0 || !slices.Equal(slices.Concat(parts...), entries) {
			t.Errorf("parts %v", parts)
		}
	}
}

func TestALimitIsBelievedAsFarAsItExplainsTheRefusal(t *testing.T) {
	t.Parallel()
	b := &events.Batch{Rows: 100, Bytes: 5 << 20}
	for text, want := range map[string]limit{
		"File size exceeds the maximum allowed size of 1048576 bytes": {bytes: 1 << 20},
		"the limit is 4 MiB":             {bytes: 4 << 20},
		"the limit is 5 MiB":             {}, // the file kept to it
		"Request Entity Too Large":       {},
		"File contains 51 requests, 413": {rows: 50},
	} {
		if got := toldBy(refused(413, text), b); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestALearnedLimitIsOneKeysAndForgottenAfterAnHour(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := newLimits()
	l.learn("a", limit{}, now)
	l.learn("a", limit{bytes: 10}, now)
	l.learn("a", limit{rows: 3}, now.Add(time.Minute))
	if got := l.of("a", now.Add(limitTTL)); got != (limit{rows: 3, bytes: 10}) {
		t.Errorf("known %+v", got)
	}
	if got := l.of("b", now); got != (limit{}) {
		t.Errorf("another key's %+v", got)
	}
	later := now.Add(time.Minute + limitTTL)
	if got := l.of("a", later); got != (limit{}) {
		t.Errorf("after an hour %+v", got)
	}
	l.learn("a", limit{rows: 5}, later)
	if got := l.of("a", later); got != (limit{rows: 5}) {
		t.Errorf("learned anew %+v", got)
	}
}
