package distinct_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/distinct"
)

func TestEveryDoubledRowIsFoundWhateverFitsInMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := distinct.New(rapid.IntRange(0, 20).Draw(t, "buffer"))
		defer f.Close()
		first := make(map[string]distinct.Place)
		var want []distinct.Pair
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 30), 0, 100).Draw(t, "ids") {
			id, at := fmt.Sprint("id", n), distinct.Place{File: i / 40, Line: i%40 + 1}
			if err := f.Add(id, at); err != nil {
				t.Fatal(err)
			}
			if before, known := first[id]; known {
				want = append(want, distinct.Pair{First: before, Again: at})
			} else {
				first[id] = at
			}
		}
		for range 2 {
			var got []distinct.Pair
			for pair, err := range f.Doubled() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, pair)
			}
			var last distinct.Row
			n := 0
			for row, err := range f.Rows() {
				if order := slices.Compare(last.ID[:], row.ID[:]); err != nil || order > 0 || order == 0 && n > 0 && last.File*1000+last.Line >= row.File*1000+row.Line {
					t.Fatalf("%v behind %v, %v", row, last, err)
				}
				last = row
				n++
			}
			if n != len(want)+len(first) {
				t.Fatalf("%d rows, want %d", n, len(want)+len(first))
			}
			order := func(a, b distinct.Pair) int { return (a.Again.File-b.Again.File)*1000 + a.Again.Line - b.Again.Line }
			slices.SortFunc(got, order)
			if !slices.Equal(got, want) {
				t.Fatalf("got %v\nwant %v", got, want)
			}
		}
	})
}

func TestATemporaryFileIsRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f := distinct.New(2)
	for i := range 7 {
		if err := f.Add("same", distinct.Place{Line: i + 1}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for range f.Doubled() {
		if n++; n == 3 {
			break // whoever saw enough may leave
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	f = distinct.New(1)
	if err := f.Add("x", distinct.Place{}); err == nil {
		t.Error("a missing folder is no error")
	}
}
