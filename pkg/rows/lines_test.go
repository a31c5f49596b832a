package rows_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/batchbus/batchbus/pkg/rows"
)

// numbered writes lines as "number:text|…".
func numbered(payload string) string { return joined(rows.Lines([]byte(payload))) }

func joined(lines iter.Seq[rows.Line]) string {
	var out []string
	for line := range lines {
		out = append(out, fmt.Sprintf("%d:%s", line.Number, line.Bytes))
	}
	return strings.Join(out, "|")
}

func TestLinesSplitOnLineFeedsAlone(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		"":                         "",
		"\n \t\r\n":                "",
		"a":                        "1:a",
		"a\nb":                     "1:a|2:b",
		"a\r\n\r\n \tb \t\r\nc\n":  "1:a|3:b|4:c",
		"\ufeffa\n\ufeffb":         "1:a|2:\ufeffb",
		"a\u2028\u2029\u0085\vb\n": "1:a\u2028\u2029\u0085\vb",
		"\u00a0a\f\nb":             "1:\u00a0a\f|2:b",
		"a\rb\nc":                  "1:a\rb|2:c",
	} {
		if got := numbered(payload); got != want {
			t.Errorf("%q: %q, want %q", payload, got, want)
		}
	}
}

func TestLinesDoNotGrowIntoEachOther(t *testing.T) {
	t.Parallel()
	payload := []byte("a\nb")
	for line := range rows.Lines(payload) {
		_ = append(line.Bytes, "XX"...)
	}
	if string(payload) != "a\nb" {
		t.Errorf("payload became %q", payload)
	}
}

func TestPayloadCompactsExactlyOneObject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload   string
		want      string
		compacted bool
	}{
		"a pretty object":               {"\ufeff\n{\n  \"a\": [1.0,\t1E5 ],\r\n  \"b\" : \"x  \\n\\\" {\" \n}\n", `2:{"a":[1.0,1E5],"b":"x  \n\" {"}`, true},
		"a pretty object, lone half":    {"{\"a\":\n\"\\ud83d\"}", `1:{"a":"\ud83d"}`, true},
		"one object on one line":        {"\n{ \"a\": 1 }\n", `2:{ "a": 1 }`, false},
		"two rows":                      {"{\"a\":1}\n{\"a\":2}", `1:{"a":1}|2:{"a":2}`, false},
		"a row and a pretty one":        {"{\"a\":1}\n{\n}", "1:{\"a\":1}|2:{\n}", false},
		"a pretty object and more text": {"{\n}\nx", "1:{\n}|3:x", false},
		"a broken pretty object":        {"{\n\"a\":\n", "1:{\n\"a\":", false},
		"a pretty array":                {"[\n{}\n]", `1:[|2:{}|3:]`, false},
	} {
		lines, compacted := rows.Payload([]byte(c.payload))
		if got := joined(lines); got != c.want || compacted != c.compacted {
			t.Errorf("%s: %s, %v", name, got, compacted)
		}
	}
}

func TestAPartOfAFileIsReadAsTheFileIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload string
		first   int
		want    string
	}{
		"a mark where the file begins":       {"\ufeffa\nb", 1, "1:a|2:b"},
		"a mark behind the file's own":       {"\ufeff\ufeffa", 1, "1:\ufeffa"},
		"a mark where a later part begins":   {"\ufeffa\nb", 7, "1:\ufeffa|2:b"},
		"a pretty object alone":              {"\n{\n\"a\":1\n}\n", 7, "2:{\n\"a\":1\n}"},
		"a pretty object alone in the file":  {"{\n\"a\":1\n}\n", 1, "1:{\n\"a\":1\n}"},
		"a file in UTF-16":                   {"\xff\xfea\x00\n\x00b\x00", 1, "1:\xff\xfea\x00\n\x00b\x00"},
		"lines of a file that is not UTF-16": {"\x00{\n\x00}", 2, "1:\x00{|2:\x00}"},
	} {
		part := rows.Part([]byte(c.payload), c.first)
		if got := joined(part); got != c.want || joined(part) != got {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// readAll drains a reader into the form of numbered; a line that is too long becomes "number!size".
func readAll(r *rows.Reader) (string, error) {
	var out []string
	for {
		line, err := r.Next()
		var long *rows.LineTooLongError
		switch {
		case errors.As(err, &long):
			out = append(out, fmt.Sprintf("%d!%d", long.Number, long.Size))
		case err != nil:
			if _, again := r.Next(); !errors.Is(again, err) {
				return "", fmt.Errorf("%w, then %w", err, again)
			}
			return strings.Join(out, "|"), err
		default:
			out = append(out, fmt.Sprintf("%d:%s", line.Number, line.Bytes))
		}
	}
}

func TestReaderReadsLongLinesWhole(t *testing.T) {
	t.Parallel()
	for _, size := range []int{65535, 65536, 65537, 10 << 20} {
		long := bytes.Repeat([]byte{'x'}, size)
		input := append(append([]byte("a\n"), long...), "\r\nb"...)
		r := rows.NewReader(bytes.NewReader(input), size)
		for i, want := range [][]byte{[]byte("a"), long, []byte("b")} {
			line, err := r.Next()
			if err != nil || line.Number != i+1 || !bytes.Equal(line.Bytes, want) {
				t.Fatalf("size %d, line %d: %d bytes, %v", size, i+1, len(line.Bytes), err)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("size %d: the end is %v", size, err)
		}
	}
}

func TestReaderSkipsALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	for _, size := range []int{6, 7, 8, 100, 65536, 200000} {
		input := "a\n12345" + strings.Repeat("x", size-5) + "\n\nb"
		r := rows.NewReader(strings.NewReader(input), 5)
		_, _ = r.Next()
		line, err := r.Next()
		var long *rows.LineTooLongError
		if !errors.As(err, &long) || !errors.Is(err, rows.ErrLineTooLong) || *long != (rows.LineTooLongError{Number: 2, Size: int64(size), Limit: 5}) {
			t.Fatalf("size %d: %v", size, err)
		}
		if !bytes.HasPrefix(line.Bytes, []byte("12345")) || line.Number != 2 {
			t.Errorf("size %d: the head is %q", size, line.Bytes)
		}
		if line, err := r.Next(); err != nil || string(line.Bytes) != "b" || line.Number != 4 {
			t.Errorf("size %d: then %q, %v", size, line.Bytes, err)
		}
	}
}

func TestReaderTakesNoHeadForALine(t *testing.T) {
	t.Parallel()
	got, _ := readAll(rows.NewReader(strings.NewReader("12       345\n        67\nb"), 5))
	if got != "1!12|2!10|3:b" {
		t.Error(got)
	}
}

func TestReaderReportsMarksAndEncodings(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"\xff\xfe{\x00": "UTF-16LE", "\xfe\xff\x00{": "UTF-16BE", "{\x00\"\x00": "UTF-16LE", "\x00{\x00\"": "UTF-16BE",
		"\xff\xfe\x00\x00{\x00\x00\x00": "UTF-32LE", "\x00\x00\x00{": "UTF-32BE", "{\x00\x00\x00": "UTF-32LE",
	} {
		_, err := readAll(rows.NewReader(strings.NewReader(input), 0))
		var encoding *rows.EncodingError
		if !errors.As(err, &encoding) || encoding.Encoding != want || !errors.Is(err, rows.ErrEncoding) {
			t.Errorf("%q: %v, want %s", input, err, want)
		}
	}
	likely := rows.NewReader(iotest.HalfReader(strings.NewReader("\xff\xfe{\na")), 0)
	if got, err := readAll(likely); got != "1:\xff\xfe{|2:a" || !errors.Is(err, io.EOF) {
		t.Errorf("a bad first row costs the others: %q %v", got, err)
	}
	r := rows.NewReader(iotest.OneByteReader(strings.NewReader("\ufeffa\n\ufeffb")), 0)
	if got, _ := readAll(r); got != "1:a|2:\ufeffb" || !r.BOM() {
		t.Errorf("%q, BOM %v", got, r.BOM())
	}
	plain := rows.NewReader(strings.NewReader("a"), 0)
	if got, err := readAll(plain); got != "1:a" || plain.BOM() || !errors.Is(err, io.EOF) {
		t.Errorf("%q %v, BOM %v", got, err, plain.BOM())
	}
}

func TestReaderWithholdsALineCutByAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken disk")
	got, err := readAll(rows.NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 0))
	if got != "1:a" || !errors.Is(err, broken) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReaderGivesTheSameLinesHoweverTheReadsFall(t *testing.T) {
	t.Parallel()
	input := "\ufeffa\n" + strings.Repeat("x", 65535) + "\r\n" + strings.Repeat("y", 140000) + "\n \n" + strings.Repeat("z", 65537)
	for _, limit := range []int{1, 65534, 65535, 65536, 139999, 140000} {
		whole, _ := readAll(rows.NewReader(strings.NewReader(input), limit))
		for _, r := range []io.Reader{iotest.OneByteReader(strings.NewReader(input)), iotest.HalfReader(strings.NewReader(input))} {
			if got, _ := readAll(rows.NewReader(r, limit)); got != whole {
				t.Errorf("limit %d: %.90q, in one read %.90q", limit, got, whole)
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\r\n\r\n \tb \t\r\nc"), uint16(3))
	f.Add([]byte("\ufeff{}\n"+strings.Repeat("x", 70)+"\r\ny\n"), uint16(60))
	f.Fuzz(func(t *testing.T, input []byte, limit uint16) {
		most := int(limit) + 1
		whole, err := readAll(rows.NewReader(bytes.NewReader(input), most))
		for name, r := range map[string]io.Reader{
			"one byte": iotest.OneByteReader(bytes.NewReader(input)), "half": iotest.HalfReader(bytes.NewReader(input)),
			"with the error": iotest.DataErrReader(bytes.NewReader(input)),
		} {
			if got, again := readAll(rows.NewReader(r, most)); got != whole || fmt.Sprint(again) != fmt.Sprint(err) {
				t.Fatalf("read by %s: %q %v, else %q %v", name, got, again, whole, err)
			}
		}
		lines, compacted := rows.Payload(input)
		if unlimited, err := readAll(rows.NewReader(bytes.NewReader(input), len(input)+1)); errors.Is(err, io.EOF) && !compacted && unlimited != joined(lines) {
			t.Fatalf("reader %q, payload %q", unlimited, joined(lines))
		}
		if unlimited, err := readAll(rows.NewReader(bytes.NewReader(input), len(input)+1)); errors.Is(err, io.EOF) && unlimited != joined(rows.Part(input, 1)) {
			t.Fatalf("reader %q, part %q", unlimited, joined(rows.Part(input, 1)))
		}
	})
}
