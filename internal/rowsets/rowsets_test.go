package rowsets_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/distinct"
	"github.com/batchbus/batchbus/internal/rowsets"
	"github.com/batchbus/batchbus/pkg/rows"
)

// drawn are the numbers of the rows that a sample takes.
func drawn(size, of int, seed uint64) (taken []int) {
	s := rowsets.NewSample(size, seed)
	for range of {
		s.Count()
	}
	s.Begin()
	for i := range of {
		if s.Takes() {
			taken = append(taken, i)
		}
	}
	return taken
}

func TestASampleHasItsSizeAndIsDrawnAgainByItsSeed(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]int{{0, 5}, {3, 5}, {5, 5}, {9, 5}, {1, 1000}, {1, 0}} {
		got := drawn(c[0], c[1], 7)
		if len(got) != min(c[0], c[1]) || !slices.Equal(got, drawn(c[0], c[1], 7)) {
			t.Errorf("%d of %d: %v", c[0], c[1], got)
		}
	}
	if slices.Equal(drawn(5, 1000, 1), drawn(5, 1000, 2)) {
		t.Error("two seeds draw the same")
	}
}

func TestEveryRowHasTheSameChance(t *testing.T) {
	t.Parallel()
	const size, of, tries = 5, 20, 8000
	var counts [of]int
	for seed := range uint64(tries) {
		for _, i := range drawn(size, of, seed) {
			counts[i]++
		}
	}
	for i, n := range counts { // 2000 are expected, with a deviation of 39
		if n < 1800 || n > 2200 {
			t.Errorf("row %d was taken %d times of %d, want about %d", i, n, tries, tries*size/of)
		}
	}
}

func TestPartsHoldAllRowsWithinTheirLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		by := rowsets.By{Rows: rapid.IntRange(0, 4).Draw(t, "rows"), Bytes: int64(rapid.IntRange(0, 40).Draw(t, "bytes"))}
		s := rowsets.NewSplitter(by)
		last, count, bytes := "", 0, int64(0)
		for _, size := range rapid.SliceOfN(rapid.IntRange(1, 50), 0, 40).Draw(t, "sizes") {
			name, done := s.Part(make([]byte, size))
			if done != (name != last) || name < last {
				t.Fatalf("%s behind %s, done %v", name, last, done)
			}
			full := by.Rows > 0 && count == by.Rows || by.Bytes > 0 && bytes+int64(size)+1 > by.Bytes
			if last != "" && full != done {
				t.Fatalf("a part of %d rows and %d bytes: done %v before a row of %d", count, bytes, done, size)
			}
			if done {
				count, bytes = 0, 0
			}
			last, count, bytes = name, count+1, bytes+int64(size)+1
		}
	})
}

func TestPartsAreNamedAfterModelsAndUrls(t *testing.T) {
	t.Parallel()
	line := `{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"model":%q,"input":""}}`
	rules := rows.DefaultRules()
	s := rowsets.NewSplitter(rowsets.By{Of: "model", Rules: &rules})
	for _, c := range [][2]string{
		{"Qwen/Q3", "Qwen_Q3"},
		{"Qwen_Q3", "Qwen_Q3-2"},
		{"qwen_q3", "qwen_q3-3"},
		{"Qwen/Q3", "Qwen_Q3"},
		{"bad", "bad-2"},
		{"../../etc", "etc"},
		{"é", "-2"},
		{strings.Repeat("x", 200), strings.Repeat("x", 100)},
		{strings.Repeat("x", 201), strings.Repeat("x", 100) + "-2"},
	} {
		if got, _ := s.Part(fmt.Appendf(nil, line, c[0])); got != c[1] {
			t.Errorf("%s is in part %s, want %s", c[0], got, c[1])
		}
	}
	if got, _ := s.Part([]byte("{oops")); got != rowsets.BadPart {
		t.Error(got)
	}
	s = rowsets.NewSplitter(rowsets.By{Of: "url", Rules: &rules})
	if got, _ := s.Part(fmt.Appendf(nil, line, "m")); got != "v1_embeddings" {
		t.Error(got)
	}
}

func TestLaterRowsAreThoseThatWereNoted(t *testing.T) {
	t.Parallel()
	var l rowsets.Later
	noted := []distinct.Place{{File: 2, Line: 1}, {File: 2, Line: 64}, {File: 0, Line: 127}}
	for _, at := range noted {
		l.Add(at)
	}
	for file := range 4 {
		for line := range 200 {
			at := distinct.Place{File: file, Line: line}
			if l.Has(at) != slices.Contains(noted, at) {
				t.Errorf("%v: %v", at, l.Has(at))
			}
		}
	}
}

func TestReadingStopsWithItsContextOrAtAnError(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	n := 0
	if err := rowsets.Each(t.Context(), strings.NewReader("a\n\n b \r\nc"), func(l rows.Line) error {
		if n++; n == 2 && string(l.Bytes) == "b" && l.Number == 3 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) || n != 2 {
		t.Errorf("%v after %d rows", err, n)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if err := rowsets.Each(ctx, strings.NewReader("a"), func(rows.Line) error { return nil }); !errors.Is(err, stop) {
		t.Error(err)
	}
}
