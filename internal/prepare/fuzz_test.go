package prepare_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/prepare"
	"github.com/batchbus/batchbus/pkg/rows"
)

// FuzzPrepare compares what is written with what package rows says of the same text: only good rows are written, each row is either written or
// bad, a good line of a text that is no array is never lost, and what was prepared is prepared.
func FuzzPrepare(f *testing.F) {
	a, b := row("a"), row("b")
	for _, text := range []string{
		a + "\n" + b, pretty(a) + "\n" + b, "[" + a + ",\n" + pretty(b) + "]", a + b, a + "\n[" + b + "]" + a, "\ufeff" + a + ",\r\n\ufeff" + b, "[{\n" + a + "]",
		"[" + a + ",7,{\"x\":[}\n" + b + "\n]", wide(a+"\n"+b, false, true), wide("["+a+"]", true, false), "{\"x\n" + a + "\n\"}", a + "\n{\n" + b + "\n}", "[" + a,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := prepared(t, text, func(p *prepare.Preparer) { p.Rules = &rows.Rules{MaxRowBytes: 1 << 12}; p.Limit = 1 << 13 })
		for _, line := range got.lines {
			if _, fault := rows.Parse([]byte(line), nil); fault != nil && fault.Code != rows.CodeMissingModel && fault.Code != rows.CodeURLNotAllowed {
				t.Fatalf("%q became %q: %v", text, line, fault)
			}
		}
		if c := got.counts; c.Written != len(got.lines) || c.Written+c.Bad < c.Rows || c.Written+c.Bad > c.Rows+1 || len(got.findings) != c.Bad+c.Doubtful {
			t.Fatalf("%q: %+v, %d lines, %q", text, c, len(got.lines), got.findings)
		}
		if again := prepared(t, strings.Join(got.lines, "\n"), nil); !slices.Equal(again.lines, got.lines) {
			t.Fatalf("%q became %q and then %q", text, got.lines, again.lines)
		}
		if head := bytes.TrimLeft([]byte(text), "\ufeff \t\r\n"); len(head) > 0 && head[0] == '[' || got.counts.Recoded > 0 {
			return
		}
		at := 0
		for line := range rows.Part([]byte(text), 1) {
			if _, fault := rows.Parse(line.Bytes, &rows.Rules{MaxRowBytes: 1 << 12}); fault != nil {
				continue
			}
			found := slices.Index(got.lines[at:], string(line.Bytes))
			if found < 0 {
				t.Fatalf("%q lost %q: %q", text, line.Bytes, got.lines)
			}
			at += found + 1
		}
	})
}
