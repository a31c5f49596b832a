package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/distinct"
	"github.com/batchbus/batchbus/internal/resultdiff"
	"github.com/batchbus/batchbus/internal/rowfile"
)

type diffCommand struct {
	A    string `arg:"" help:"Results, in any --format: a file, or a folder with output.jsonl and errors.jsonl, as run writes it."`
	B    string `arg:"" help:"The results to compare with."`
	Text bool   `help:"Answers whose text is the same are the same, whatever else is in them: ids, times, usage."`
	JSON bool   `name:"json" help:"Print JSON lines, as in a pipe: one a row that differs, and the summary last."`
}

// Help is shown below the flags. A test runs what is indented.
func (d *diffCommand) Help() string {
	return `Results are joined by custom_id. The exit code is 1 when any differs.

    batchbus diff results-a results-b --text`
}

// run compares two sets of results.
func (d *diffCommand) run(ctx context.Context, env app.Env) (int, error) {
	var sets [2]*resultdiff.Set
	for i, path := range []string{d.A, d.B} {
		set, done, err := openResults(ctx, env, path)
		if err != nil {
			return endedWriting(ctx, env, err)
		}
		defer done()
		sets[i] = set
	}
	if sets[0].Rows+sets[1].Rows == 0 {
		return app.ExitFault, fmt.Errorf("%s, %s: no results: no line has a custom_id", d.A, d.B)
	}
	show := newDiffTable(env.Stdout, d.JSON || !isTerminal(env.Stdout))
	sum, err := resultdiff.Diff(ctx, sets[0], sets[1], d.Text, show.change)
	if err == nil {
		err = show.end(&sum)
	}
	if err != nil {
		return endedWriting(ctx, env, err)
	}
	tellDiff(env, &sum)
	if sum.Differs() {
		return app.ExitRows, nil
	}
	return app.ExitOK, nil
}

// openResults reads the results that path names.
func openResults(ctx context.Context, env app.Env, path string) (set *resultdiff.Set, done func(), err error) {
	paths, err := resultFiles(path)
	if err != nil {
		return nil, nil, err
	}
	set = resultdiff.NewSet(distinct.DefaultBuffer)
	ends := []io.Closer{set}
	done = func() {
		for _, end := range ends {
			_ = end.Close() // files that were read, and temporary ones
		}
	}
	for _, path := range paths {
		file, err := randomAccess(ctx, env, path)
		if err == nil {
			ends = append(ends, file)
			err = set.Add(ctx, file)
		}
		if err != nil {
			done()
			return nil, nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return set, done, nil
}

// resultFiles are the files of a folder with results, or the one that is named.
func resultFiles(path string) (all []string, err error) {
	if info, _ := os.Stat(path); info == nil || !info.IsDir() {
		return []string{path}, nil // opening it says what is wrong
	}
	for _, name := range []string{"output.jsonl", "errors.jsonl", "output.jsonl.gz", "errors.jsonl.gz"} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			all = append(all, filepath.Join(path, name))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds neither output.jsonl nor errors.jsonl", path)
	}
	return all, nil
}

// anywhere is a file that can be read at any place.
type anywhere interface {
	io.ReaderAt
	io.Closer
}

// randomAccess opens a file; what is compressed, or comes from a pipe, is kept in a temporary one.
func randomAccess(ctx context.Context, env app.Env, path string) (anywhere, error) {
	files := &rowFiles{paths: []string{path}, stdin: env.Stdin, ended: func() error { return context.Cause(ctx) }}
	file, err := files.open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if path != rowfile.Stdin && !file.Packed {
		plain, err := os.Open(path)
		return plain, err //nolint:wrapcheck // the caller does
	}
	return rowfile.NewSpool(ctx, file)
}

// diffTable prints rows that differ, as they come.
type diffTable struct {
	json *json.Encoder
	w    *tabwriter.Writer
	n    int
}

func newDiffTable(to io.Writer, asJSON bool) *diffTable {
	t := &diffTable{w: tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)}
	if asJSON {
		t.json = json.NewEncoder(to)
		t.json.SetEscapeHTML(false)
	}
	return t
}

func (t *diffTable) change(c resultdiff.Change) error {
	if t.json != nil {
		return printed(t.json.Encode(c))
	}
	if t.n == 0 {
		fmt.Fprintln(t.w, "CHANGE\tA\tB\tTEXT\tTOKENS A\tTOKENS B\tCUSTOM_ID")
	}
	text := "-"
	if c.SameText != nil {
		text = map[bool]string{true: "same", false: "other"}[*c.SameText]
	}
	outcomeA, tokensA := sideWords(c.A)
	outcomeB, tokensB := sideWords(c.B)
	fmt.Fprintf(t.w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Kind, outcomeA, outcomeB, text, tokensA, tokensB, quotedID(c.CustomID))
	if t.n++; t.n%tablePart == 0 {
		return printed(t.w.Flush())
	}
	return nil
}

func sideWords(s *resultdiff.Side) (outcome, tokens string) {
	if s == nil {
		return "-", "-"
	}
	outcome = printable(s.Outcome)
	if s.Code != "" {
		outcome += " (" + printable(s.Code) + ")"
	}
	return outcome, strconv.FormatInt(s.Usage.TotalTokens, 10)
}

// end prints what is left, and for programs the summary.
func (t *diffTable) end(sum *resultdiff.Summary) error {
	if t.json != nil {
		return printed(t.json.Encode(map[string]*resultdiff.Summary{"summary": sum}))
	}
	return printed(t.w.Flush())
}

func printed(err error) error {
	if err != nil {
		return fmt.Errorf("print differences: %w", err)
	}
	return nil
}

// tellDiff says the summary to people.
func tellDiff(env app.Env, s *resultdiff.Summary) {
	say(env, "%d rows in A, %d in B: %d the same, %d by their text; %d only in A, %d only in B, %d with another outcome, %d with another answer, %d with another error",
		s.RowsA, s.RowsB, s.Same, s.SameText, s.OnlyA, s.OnlyB, s.Outcome, s.Answer, s.Error)
	say(env, "tokens: %d in and %d out in A, %d in and %d out in B", s.UsageA.PromptTokens, s.UsageA.CompletionTokens, s.UsageB.PromptTokens, s.UsageB.CompletionTokens)
	if s.Doubled+s.NoID > 0 {
		say(env, "note: %d rows came twice in their set, of which the first counts; %d lines have no custom_id", s.Doubled, s.NoID)
	}
}
