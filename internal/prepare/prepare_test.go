package prepare_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/prepare"
	"github.com/batchbus/batchbus/pkg/rows"
)

// good is a row whose body has what a decoder would change.
const good = `{"custom_id":"%s","method":"POST","url":"/v1/chat/completions","body":{"model":"m","max_tokens":1E2,"seed":9007199254740993,"u":"\u00e9<&>` + "\u2028" + `","messages":[{"role":"user","content":"]}{[\\\","}]}}`

func row(id string) string { return fmt.Sprintf(good, id) }

// pretty is a row over several lines.
func pretty(text string) string {
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", "  "); err != nil {
		panic(err)
	}
	return out.String()
}

type outcome struct {
	lines    []string
	findings []string
	counts   prepare.Counts
}

func prepared(t *testing.T, text string, set func(*prepare.Preparer)) outcome {
	t.Helper()
	var out outcome
	p := prepare.Preparer{
		Rules: &rows.Rules{MaxRowBytes: 1 << 20}, Limit: 2 << 20,
		Put: func(line []byte) error { out.lines = append(out.lines, string(line)); return nil },
		Found: func(f prepare.Finding) {
			out.findings = append(out.findings, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Code))
		},
	}
	if set != nil {
		set(&p)
	}
	if err := p.File(t.Context(), strings.NewReader(text), false); err != nil {
		t.Fatal(err)
	}
	out.counts = p.Counts
	return out
}

func TestEveryWayToWriteRowsBecomesPlainLines(t *testing.T) {
	t.Parallel()
	a, b, c := row("a"), row("b"), row("c")
	for name, text := range map[string]string{
		"plain lines":                           a + "\n" + b + "\n" + c + "\n",
		"no last line feed, blank lines, CR LF": "\r\n" + a + "\r\n\r\n " + b + "\t\r\n" + c,
		"a byte order mark":                     "\ufeff" + a + "\n" + b + "\n" + c,
		"files with marks behind one another":   "\ufeff" + a + "\n\ufeff" + b + "\n\ufeff" + c,
		"objects over several lines":            pretty(a) + "\n" + pretty(b) + "\n\n" + pretty(c),
		"objects over lines with CR LF":         strings.ReplaceAll(pretty(a)+"\n"+pretty(b)+"\n"+pretty(c), "\n", "\r\n"),
		"some over several lines":               pretty(a) + "\n" + b + "\n" + pretty(c),
		"commas behind the rows":                a + ",\n" + b + ",\n" + c + ",",
		"several on one line":                   a + b + "\n" + c,
		"several on one line with commas":       a + ", " + b + ",\n" + c,
		"old line ends":                         a + "\r" + b + "\r" + c + "\r",
		"an array on one line":                  "[" + a + "," + b + ", " + c + "]",
		"an array with a row a line":            "[\n" + a + ",\n" + b + ",\n" + c + "\n]\n",
		"an array over many lines":              "\n [ \n" + pretty(a) + ",\n" + pretty(b) + ",\n" + pretty(c) + "]\n",
		"an array with a comma too many":        "[" + a + "," + b + "," + c + ",]",
		"arrays behind one another":             "[" + a + "]\n[]\n[" + b + "," + c + "]",
		"lines behind an array":                 "[" + a + "]\n" + b + "\n" + c,
		"an array among lines":                  a + "\n[" + b + "," + c + "]\n",
		"rows behind an array among lines":      a + "\n[" + b + "]" + c + "\n",
		"UTF-16":                                wide(a+"\r\n"+b+"\n"+c, false, true),
		"UTF-16 of the other order, no mark":    wide(a+"\n"+b+"\n"+c, true, false),
		"an array in UTF-16":                    wide("["+pretty(a)+","+b+"\n,"+c+"]", false, true),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := prepared(t, text, nil)
			if !slices.Equal(got.lines, []string{a, b, c}) || got.findings != nil {
				t.Errorf("got %q\n%v", got.lines, got.findings)
			}
		})
	}
}

// wide is text as UTF-16, little endian unless big.
func wide(text string, big, mark bool) string {
	units := utf16.Encode([]rune(text))
	if mark {
		units = append([]uint16{0xfeff}, units...)
	}
	var out []byte
	for _, u := range units {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return string(out)
}

func TestWhatWasFoundIsCounted(t *testing.T) {
	t.Parallel()
	got := prepared(t, "\ufeff"+row("a")+"\r\n"+pretty(row("b"))+"\n"+row("c")+row("d")+"\n"+row("e")+",\n["+row("f")+"]\nnonsense\n", nil)
	want := prepare.Counts{Files: 1, Rows: 7, Written: 6, Bad: 1, Changed: 1, Marks: 1, LineEnds: 1, Joined: 1, Cut: 1, Commas: 1, Arrays: 1}
	if got.counts != want {
		t.Errorf("%+v\nwant %+v", got.counts, want)
	}
}

func TestABadRowCostsNoNeighbourAndIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	a, b := row("a"), row("b")
	broken := strings.Replace(a, `"POST"`, `POST`, 1)
	for name, c := range map[string]struct {
		text, finding string
	}{
		"a line that is no JSON":                     {a + "\n{oops\n" + b, "2:2 invalid_json"},
		"an object over lines, with a fault":         {a + "\n" + strings.Replace(pretty(row("x")), `"POST"`, "POST", 1) + "\n" + b, "4:11 invalid_json"},
		"one with a wrong member":                    {a + "\n" + strings.Replace(pretty(row("x")), "POST", "GET", 1) + "\n" + b, "4:11 method_not_post"},
		"an element with a fault":                    {"[" + a + ",\n  " + broken + ",\n" + b + "]", fmt.Sprintf("2:%d invalid_json", 3+strings.Index(broken, "POST"))},
		"an element with a bracket too few":          {"[" + a + ",\n" + strings.Replace(row("x"), "]}}", "}}", 1) + ",\n" + b + "]", "2:" + strconv.Itoa(len(row("x"))-2) + " invalid_json"},
		"an element whose string does not end":       {"[\n" + a + ",\n{\"custom_id\":\"x\n\"},\n" + b + "\n]", "3:16 invalid_json"},
		"an element over lines with a wrong bracket": {"[\n  " + a + ",\n  {\n  \"x\":[}\n  },\n  {\n" + b[1:] + "\n]", "4:8 invalid_json"},
		"a number in an array":                       {"[" + a + ", 7 ," + b + "]", fmt.Sprintf("1:%d not_an_object", len(a)+4)},
		"an array of no rows in front of a row":      {a + "\n[7]" + row("x") + "\n" + b, "2:4 invalid_json"},
		"a lone surrogate":                           {a + "\n" + strings.Replace(a, `\u00e9`, `\ud83d`, 1) + "\n" + b, fmt.Sprintf("2:%d lone_surrogate", 1+strings.Index(a, `\u00e9`))},
		"a row that is too large":                    {a + "\n" + strings.Replace(a, "<&>", strings.Repeat("x", 1<<20), 1) + "\n" + b, "2:0 row_too_large"},
		"a line over the limit":                      {a + "\n" + strings.Repeat("x", 3<<20) + "\n" + b, "2:0 row_too_large"},
		"an element over the limit":                  {"[" + a + ",\n{\"x\":\"" + strings.Repeat("x", 3<<20) + "\"},\n" + b + "]", "2:0 row_too_large"},
		"a row without an id":                        {a + "\n" + strings.Replace(a, `"custom_id":"a",`, "", 1) + "\n" + b, "2:0 missing_custom_id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := prepared(t, c.text, nil)
			if !slices.Equal(got.lines, []string{a, b}) || !slices.Equal(got.findings, []string{c.finding}) || got.counts.Bad != 1 {
				t.Errorf("%d lines, %q, want %s\n%q", len(got.lines), got.findings, c.finding, got.lines)
			}
		})
	}
}

func TestTextThatEndsOrBreaksIsAFindingBehindTheGoodRows(t *testing.T) {
	t.Parallel()
	a := row("a")
	for name, c := range map[string]struct {
		text     string
		findings []string
	}{
		"an array without its end":          {"[" + a + ",\n", []string{"2:0 bad_text"}},
		"an array cut inside a row":         {"[" + a + ",\n{\"custom_id\":", []string{"2:14 multiline_object", "2:0 bad_text"}},
		"half a surrogate pair in UTF-16":   {wide(a+"\n", false, true) + "\x3d\xd8\n\x00", []string{"2:0 bad_text"}},
		"UTF-16 that ends inside of a unit": {wide(a+"\n", false, true) + "\x3d", []string{"2:0 bad_text"}},
	} {
		got := prepared(t, c.text, nil)
		if !slices.Equal(got.lines, []string{a}) || !slices.Equal(got.findings, c.findings) {
			t.Errorf("%s: %d lines, %q, want %q", name, len(got.lines), got.findings, c.findings)
		}
	}
}

func TestRowsThatAQueueMayTakeAreWrittenWithAWarning(t *testing.T) {
	t.Parallel()
	none, other := strings.Replace(row("a"), `"model":"m",`, "", 1), strings.Replace(row("b"), "chat/completions", "rerank", 1)
	got := prepared(t, none+"\n"+other, nil)
	if !slices.Equal(got.lines, []string{none, other}) || len(got.findings) != 2 || got.counts.Doubtful != 2 || got.counts.Bad != 0 {
		t.Errorf("%q %q", got.lines, got.findings)
	}
}

func TestPreparingStopsWithItsContextAndWithItsTarget(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	p := prepare.Preparer{Rules: &rows.Rules{}, Limit: 1 << 20, Put: func([]byte) error { return full }}
	if err := p.File(t.Context(), strings.NewReader(row("a")), false); !errors.Is(err, full) {
		t.Error(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(full)
	p.Put = func([]byte) error { t.Error("written"); return nil }
	if err := p.File(ctx, strings.NewReader(row("a")), false); !errors.Is(err, full) {
		t.Error(err)
	}
}

// TestPreparedRowsDoNotDependOnHowTheyWereWritten draws rows and ways to write them.
func TestPreparedRowsDoNotDependOnHowTheyWereWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want []string
		var text strings.Builder
		array := rapid.Bool().Draw(t, "array")
		for i := range rapid.IntRange(1, 6).Draw(t, "rows") {
			content, err := json.Marshal(rapid.StringOf(rapid.RuneFrom([]rune("ab\"\\{}[],:\né\u2028𝄞 "))).Draw(t, "content"))
			if err != nil {
				t.Fatal(err)
			}
			one := fmt.Sprintf(`{"custom_id":"r%d","method":"POST","url":"/v1/embeddings","body":{"input":[%s,[],{}],"model":"m"}}`, i, content)
			want = append(want, one)
			if rapid.Bool().Draw(t, "pretty") {
				one = pretty(one)
			}
			if array && i > 0 {
				text.WriteString(rapid.SampledFrom([]string{",", ",\n", "\n,"}).Draw(t, "comma"))
			}
			text.WriteString(one)
			if !array {
				text.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\n\n ", ",\n"}).Draw(t, "end"))
			}
		}
		all := text.String()
		if array {
			all = "[" + all + "]"
		}
		switch rapid.IntRange(0, 3).Draw(t, "encoding") {
		case 1:
			all = wide(all, false, true)
		case 2:
			all = "\ufeff" + all
		}
		var got []string
		p := prepare.Preparer{
			Rules: &rows.Rules{}, Limit: 1 << 20, Found: func(f prepare.Finding) { t.Errorf("%+v", f) },
			Put: func(line []byte) error { got = append(got, string(line)); return nil },
		}
		if err := p.File(context.Background(), strings.NewReader(all), false); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q\nbecame %q\nwant   %q", all, got, want)
		}
	})
}
