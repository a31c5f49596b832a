package contract_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/batchbus/batchbus/pkg/rows"
)

const (
	rowsPage   = "../../docs/rows.md"
	codesBegin = "<!-- codes: written by go test ./test/contract -run RowsPage -update -->\n"
	codesEnd   = "<!-- end of codes -->\n"
)

var update = flag.Bool("update", false, "write the codes of docs/rows.md anew")

func rowsText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(rowsPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// example is the line of a reason; that of a row too large is too long to keep.
func example(reason rows.Reason) string {
	if reason.Code != rows.CodeRowTooLarge {
		return reason.Example
	}
	head, tail := `{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"`, `"}}`
	return head + strings.Repeat("x", rows.DefaultMaxRowBytes+1-len(head)-len(tail)) + tail
}

// section is what the page says of a code.
func section(reason rows.Reason) string {
	line := example(reason)
	row, fault := rows.Parse([]byte(line), reason.Rules())
	message, hint, column, ends := "", "", 0, "The row passes."
	for _, w := range row.Warnings {
		message, column = w.Message, w.Column
	}
	if fault != nil {
		message, hint, column, ends = fault.Message, fault.Hint, fault.Column, "Ends as a dead letter: no `custom_id` can be read for certain."
		if fault.Code == rows.CodeCustomIDTooLong {
			ends = "Ends as a dead letter: the `custom_id` can be read, and is too long to name anything on the bus."
		}
		if fault.HasCustomID {
			ends = "Ends as the `rejected` result of `" + fault.CustomID + "`."
		}
	}
	if hint != "" {
		message += "; " + hint
	}
	if column > 0 {
		message = fmt.Sprintf("column %d: %s", column, message)
	}
	return fmt.Sprintf("### `%s`\n\n%s\n\n```row %s %d\n%s\n```\n\n> %s\n\n%s\n\n", reason.Code, reason.Meaning, reason.Code, column, shorten(line), message, ends)
}

func codesText() string {
	var faults, warnings strings.Builder
	for _, reason := range rows.Reasons() {
		if reason.Warning {
			warnings.WriteString(section(reason))
		} else {
			faults.WriteString(section(reason))
		}
	}
	return "\nA row with one of these is refused. They stand in the order in which a row is judged; the first one found is told.\n\n" + faults.String() +
		"A row with one of these passes; `validate` shows them.\n\n" + warnings.String()
}

func TestTheRowsPageShowsEveryCodeAsTheCodeSaysIt(t *testing.T) {
	t.Parallel()
	text := rowsText(t)
	before, rest, begins := strings.Cut(text, codesBegin)
	got, behind, ends := strings.Cut(rest, codesEnd)
	if !begins || !ends {
		t.Fatal("docs/rows.md lacks the marks of its codes")
	}
	want := codesText()
	if *update {
		if err := os.WriteFile(rowsPage, []byte(before+codesBegin+want+codesEnd+behind), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Error("docs/rows.md is not what pkg/rows says: run this test with -update, and read the change")
	}
}

// TestTheRowsPageHasARunningExampleOfEveryCode reads the page as a publisher does, whoever wrote it.
func TestTheRowsPageHasARunningExampleOfEveryCode(t *testing.T) {
	t.Parallel()
	if *update {
		t.Skip("SKIPPED: -update writes the page; run again without it to check it")
	}
	seen := map[string]bool{}
	for _, shown := range regexp.MustCompile("(?ms)^```row (\\w+) ?(\\d*)\n(.*?)\n```$").FindAllStringSubmatch(rowsText(t), -1) {
		code, column, line := shown[1], shown[2], expand(t, shown[3])
		seen[code] = true
		row, fault := rows.Parse([]byte(line), rows.Reason{Code: code}.Rules())
		got := []string{}
		if fault != nil {
			got = append(got, fault.Code+" "+strconv.Itoa(fault.Column))
		}
		for _, w := range row.Warnings {
			got = append(got, w.Code+" "+strconv.Itoa(w.Column))
		}
		want := []string{code + " " + column}
		if code == "ok" {
			want = []string{}
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("the page says %v, pkg/rows %v: %.200s", want, got, shown[3])
		}
	}
	for _, c := range constants(t, "../../pkg/rows") {
		if (strings.HasPrefix(c.name, "Code") || strings.HasPrefix(c.name, "Warn")) && !seen[c.value] {
			t.Errorf("docs/rows.md has no example of %s, %s", c.name, c.value)
		}
	}
	for _, c := range constants(t, "../../pkg/events") {
		if strings.HasPrefix(c.name, "DL") && !strings.Contains(rowsText(t), "`"+c.value+"`") {
			t.Errorf("docs/rows.md does not name %s, %s", c.name, c.value)
		}
	}
}

// shorten writes long runs and what cannot be shown as the page explains.
func shorten(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		run := len(line[i:]) - len(strings.TrimLeft(line[i:], line[i:i+size]))
		switch {
		case r == utf8.RuneError || r == '\ufeff' || r < ' ' && r != '\n':
			for _, c := range []byte(line[i : i+size]) {
				fmt.Fprintf(&b, "⟨0x%02X⟩", c)
			}
		case run >= 40 && size == 1:
			fmt.Fprintf(&b, "⟨%c × %d⟩", r, run)
			size = run
		default:
			b.WriteString(line[i : i+size])
		}
		i += size
	}
	return b.String()
}

func expand(t *testing.T, shown string) string {
	t.Helper()
	return regexp.MustCompile(`⟨0x([0-9A-F]{2})⟩|⟨(.) × ([0-9]+)⟩`).ReplaceAllStringFunc(shown, func(mark string) string {
		inner := strings.Trim(mark, "⟨⟩")
		if hex, isByte := strings.CutPrefix(inner, "0x"); isByte {
			value, err := strconv.ParseUint(hex, 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			return string([]byte{byte(value)})
		}
		text, times, _ := strings.Cut(inner, " × ")
		n, err := strconv.Atoi(times)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Repeat(text, n)
	})
}

func TestWhatThePageShortensComesBack(t *testing.T) {
	t.Parallel()
	for _, reason := range rows.Reasons() {
		if line := example(reason); expand(t, shorten(line)) != line || len(shorten(line)) > 400 {
			t.Errorf("%s: %s", reason.Code, shorten(line))
		}
	}
}
