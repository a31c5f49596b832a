package client

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/rows"
)

func chunksOf(t interface{ Fatal(args ...any) }, r io.Reader) []chunk {
	c := chunker{reader: rows.NewReader(r, MaxLineBytes)}
	var all []chunk
	for {
		next, err := c.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *next)
	}
}

// numbered lists the lines of chunks under the numbers that a reader of the messages gives them.
func numbered(chunks []chunk) []string {
	var all []string
	for _, c := range chunks {
		for line := range rows.Part(c.data, c.first) {
			all = append(all, fmt.Sprintf("%d:%s", c.first-1+line.Number, line.Bytes))
		}
	}
	return all
}

func TestTheCutsDependOnTheBytesAloneAndKeepEveryLinesNumber(t *testing.T) {
	t.Parallel()
	line := rapid.OneOf(
		rapid.SampledFrom([]string{"", " ", "\r", "x", "yy\r", strings.Repeat("\n", 64), strings.Repeat("\n", 70), "{", "{\n\"a\": [\n\n1\n]}", "x\ufeff", "x\n\ufeff{}", "\ufeff", "\ufeff{}", "\ufeff\ufeff{}", "\ufeff\n\ufeff{"}),
		rapid.Map(rapid.IntRange(ChunkBytes/3, ChunkBytes+9), func(n int) string { return strings.Repeat("z", n) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		file := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), "\n")
		whole := chunksOf(t, strings.NewReader(file))
		if halved := chunksOf(t, iotest.HalfReader(strings.NewReader(file))); !reflect.DeepEqual(whole, halved) {
			t.Fatal("other reads make other cuts")
		}
		var want []string // what validate sees
		for reader := rows.NewReader(strings.NewReader(file), MaxLineBytes); ; {
			line, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			want = append(want, fmt.Sprintf("%d:%s", line.Number, line.Bytes))
		}
		if got := numbered(whole); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %.200q, want %.200q", got, want)
		}
		total := 0
		for _, c := range whole {
			total += c.rows
			if len(c.data) > ChunkBytes && c.rows > 1 {
				t.Fatalf("a chunk of %d rows has %d bytes", c.rows, len(c.data))
			}
		}
		if total != len(want) {
			t.Fatalf("%d rows are counted, %d are judged", total, len(want))
		}
	})
}

func TestALineAtTheEdgeGoesWhereItFits(t *testing.T) {
	t.Parallel()
	for second, want := range map[int]int{ChunkBytes - 3: 1, ChunkBytes - 2: 2} { // "a" and two line feeds are 3
		file := "a\n" + strings.Repeat("b", second) + "\n"
		if got := chunksOf(t, strings.NewReader(file)); len(got) != want {
			t.Errorf("lines of 1 and %d bytes make %d chunks, want %d", second, len(got), want)
		}
	}
}
