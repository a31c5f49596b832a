package doubleword_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// scanAll reads a stream to its end, long lines included, and says all that came out.
func scanAll(r io.Reader, maxLine int) (out []string) {
	s := doubleword.NewScanner(r, maxLine)
	for {
		for s.Scan() {
			out = append(out, "line "+string(s.Bytes()))
		}
		prefix, rest := s.Oversize()
		if prefix == nil {
			break
		}
		long := "long " + string(prefix)
		more, err := io.ReadAll(rest)
		out = append(out, fmt.Sprintf("%s|%s %v", long, more, err))
		if err != nil {
			s.Scan()
			break
		}
	}
	return append(out, fmt.Sprintf("complete %d partial %v tail %q err %v", s.Complete(), s.Partial(), s.Tail(), s.Err()))
}

func TestScannerSplitsOnLFAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, input string
		max         int
		want        []string
	}{
		{"nothing", "", 9, []string{`complete 0 partial false tail "" err <nil>`}},
		{
			"separators of other kinds", "a\u2028b\u2029c\u0085d\r\n\v\f\x1c\n", 99,
			[]string{"line a\u2028b\u2029c\u0085d\r", "line \v\f\x1c", `complete 2 partial false tail "" err <nil>`},
		},
		{"blank lines count", "\n\nx\n", 9, []string{"line ", "line ", "line x", `complete 3 partial false tail "" err <nil>`}},
		{"a partial line is not returned", "a\nbc", 9, []string{"line a", `complete 1 partial true tail "bc" err <nil>`}},
		{"a line of exactly the maximum", "abc\nd\n", 3, []string{"line abc", "line d", `complete 2 partial false tail "" err <nil>`}},
		{
			"a line over the maximum is streamed", "a\nabcdefgh\nz\n", 3,
			[]string{"line a", "long abc|defgh <nil>", "line z", `complete 3 partial false tail "" err <nil>`},
		},
		{"one byte over", "abcd\n", 3, []string{"long abc|d <nil>", `complete 1 partial false tail "" err <nil>`}},
		{"a long line cut off", "abcdef", 3, []string{"long abc|def unexpected EOF", `complete 0 partial true tail "" err <nil>`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, r := range map[string]io.Reader{
				"whole": strings.NewReader(c.input), "byte by byte": iotest.OneByteReader(strings.NewReader(c.input)),
				"data with EOF": iotest.DataErrReader(strings.NewReader(c.input)),
			} {
				if got := scanAll(r, c.max); !slices.Equal(got, c.want) {
					t.Errorf("%s: got  %q\nwant %q", name, got, c.want)
				}
			}
		})
	}
}

func TestScannerReadsLinesOfEveryLength(t *testing.T) {
	t.Parallel()
	var input bytes.Buffer
	lengths := []int{0, 1, 65535, 65536, 65537, 10 << 20, 3}
	for _, n := range lengths {
		input.WriteString(strings.Repeat("x", n) + "\n")
	}
	s := doubleword.NewScanner(&input, 0)
	for i, n := range lengths {
		if !s.Scan() || len(s.Bytes()) != n || s.Complete() != i+1 {
			t.Fatalf("line %d: %d bytes, want %d; %v", i, len(s.Bytes()), n, s.Err())
		}
	}
	if s.Scan() || s.Err() != nil {
		t.Error(s.Err())
	}
}

func TestScannerStopsAtALongLineUntilItIsTaken(t *testing.T) {
	t.Parallel()
	s := doubleword.NewScanner(strings.NewReader("a\nabcdef\nz\n"), 3)
	s.Scan()
	for range 3 {
		if s.Scan() || !errors.Is(s.Err(), doubleword.ErrLineTooLong) || !strings.Contains(s.Err().Error(), "line 2") {
			t.Fatalf("error = %v", s.Err())
		}
	}
	prefix, rest := s.Oversize()
	one := make([]byte, 1)
	if n, err := rest.Read(one); string(prefix) == "" || n != 1 || err != nil {
		t.Fatalf("%q, %d, %v", prefix, n, err)
	}
	if !s.Scan() || string(s.Bytes()) != "z" || s.Complete() != 3 {
		t.Errorf("what was left of the long line was not skipped: %q, %v", s.Bytes(), s.Err())
	}
}

func TestScannerReturnsItsReadersError(t *testing.T) {
	t.Parallel()
	errBroken := errors.New("broken")
	for _, maxLine := range []int{3, 9} {
		s := doubleword.NewScanner(io.MultiReader(strings.NewReader("a\nbcdef"), iotest.ErrReader(errBroken)), maxLine)
		for s.Scan() {
			continue
		}
		if _, rest := s.Oversize(); rest != nil {
			if _, err := io.Copy(io.Discard, rest); !errors.Is(err, errBroken) {
				t.Errorf("rest: %v", err)
			}
		}
		if s.Scan() || !errors.Is(s.Err(), errBroken) || !s.Partial() || s.Complete() != 1 {
			t.Errorf("max %d: partial %v, complete %d, error %v", maxLine, s.Partial(), s.Complete(), s.Err())
		}
	}
	s := doubleword.NewScanner(silent{}, 9)
	if s.Scan() || !errors.Is(s.Err(), io.ErrNoProgress) {
		t.Errorf("a reader that never moves: %v", s.Err())
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// choppy reads in pieces whose lengths come from a list, over and over.
type choppy struct {
	r       io.Reader
	lengths []byte
	at      int
}

func (c *choppy) Read(p []byte) (int, error) {
	n := 1
	if len(c.lengths) > 0 {
		n = 1 + int(c.lengths[c.at%len(c.lengths)])
		c.at++
	}
	return c.r.Read(p[:min(n, len(p))])
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte("a\nb\r\n\u2028\n\npartial"), []byte{0, 3, 1}, 4)
	f.Add([]byte(`{"id":"batch_req_1","custom_id":"a","response":null}`+"\n"), []byte{7}, 1000)
	f.Add(bytes.Repeat([]byte("x"), 300), []byte{255}, 1)
	f.Fuzz(func(t *testing.T, input, lengths []byte, maxLine int) {
		maxLine = 1 + max(0, maxLine)%512
		whole := scanAll(bytes.NewReader(input), maxLine)
		if got := scanAll(&choppy{r: bytes.NewReader(input), lengths: lengths}, maxLine); !slices.Equal(got, whole) {
			t.Fatalf("split reads give %q, one read %q", got, whole)
		}
		// An independent account: the lines are what the standard library splits.
		parts := bytes.Split(input, []byte("\n"))
		for i, part := range parts[:len(parts)-1] {
			want := "line " + string(part)
			if len(part) > maxLine {
				want = fmt.Sprintf("long %s|%s <nil>", part[:maxLine], part[maxLine:])
			}
			if whole[i] != want {
				t.Fatalf("line %d is %q, want %q", i, whole[i], want)
			}
		}
	})
}
