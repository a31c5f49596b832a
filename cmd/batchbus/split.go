package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/rowfile"
	"github.com/batchbus/batchbus/internal/rowsets"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

type splitCommand struct {
	Files []string `arg:"" name:"file" help:"JSONL files of rows, folders of them, patterns, or - for standard input. Several are split as if they were one."`
	Rows  int      `placeholder:"N" help:"Most rows of a part."`
	Bytes int64    `placeholder:"B" help:"Most bytes of a part. A longer row has one of its own."`
	By    string   `placeholder:"WHAT" help:"A part for each model, or each url."`
	Model string   `help:"Model for rows that name none."`
	Out   string   `short:"o" name:"dir" default:"." placeholder:"DIR" help:"Folder of the parts, which must not be there yet. They are called after the first file."`
	JSON  bool     `name:"json" help:"Print one JSON object a part, as in a pipe."`
}

// Help is shown below the flags. A test runs what is indented.
func (s *splitCommand) Help() string {
	return `Rows keep their bytes and, within a part, their order. No part is there before all are whole.

    batchbus split rows.jsonl --rows 4 -o parts
    batchbus split rows.jsonl --by model -o models`
}

// maxParts is how many parts are open at once: those of models and urls stay open, and a job takes 64 pairs of them.
const maxParts = 256

// part is a file on its way.
type part struct {
	File  string `json:"file"`
	Rows  int    `json:"rows"`
	Bytes int64  `json:"bytes"`
	out   *rowfile.Output
}

// splitting is a split on its way.
type splitting struct {
	splitter *rowsets.Splitter
	files    *rowFiles
	stem     string // stem is what the names of all parts begin with.
	parts    []*part
	open     map[string]*part
}

// run writes each row into its part. The exit code is 1 when it cannot tell the model or url of some.
func (s *splitCommand) run(ctx context.Context, env app.Env) (int, error) {
	files, err := resolveFiles(ctx, env, s.Files)
	if err := errors.Join(err, s.check()); err != nil {
		return app.ExitFault, err
	}
	if err := os.MkdirAll(s.Out, 0o700); err != nil {
		return app.ExitFault, flagError("--dir", err)
	}
	policy := events.DefaultPolicy()
	policy.DefaultModel = s.Model
	work := splitting{
		splitter: rowsets.NewSplitter(rowsets.By{Rows: s.Rows, Bytes: s.Bytes, Of: s.By, Rules: rulesOf(&policy)}),
		files:    files, stem: filepath.Join(s.Out, stemOf(files.paths[0])), open: make(map[string]*part),
	}
	defer work.discard()
	n, err := files.eachRow(ctx, func(_ int, line rows.Line) error { return work.row(line.Bytes) })
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: no rows: the input is empty", s.Files[0])
	}
	if err == nil {
		err = work.commit()
	}
	if err != nil {
		return endedWriting(ctx, env, err)
	}
	code := app.ExitOK
	if bad := work.open[rowsets.BadPart]; bad != nil {
		say(env, "%d row(s) are bad, and in %s: batchbus validate says why", bad.Rows, bad.File)
		code = app.ExitRows
	}
	return code, work.print(env, s.JSON || !isTerminal(env.Stdout))
}

func (s *splitCommand) check() error {
	var faults []error
	if s.By != "" && s.By != "model" && s.By != "url" {
		faults = append(faults, fmt.Errorf("--by: %q is neither model nor url", s.By))
	}
	if s.Rows < 0 || s.Bytes < 0 {
		faults = append(faults, errors.New("--rows, --bytes: a limit is negative"))
	}
	if (s.By != "") == (s.Rows > 0 || s.Bytes > 0) {
		faults = append(faults, errors.New("say what parts are made by: --rows or --bytes or both, or --by"))
	}
	return errors.Join(faults...)
}

// stemOf is a file's name without what says that it holds rows.
func stemOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	if path == rowfile.Stdin {
		name = "rows"
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

func (s *splitting) row(line []byte) error {
	name, done := s.splitter.Part(line)
	p := s.open[name]
	if p == nil {
		if done && len(s.parts) > 0 {
			if err := s.parts[len(s.parts)-1].out.Finish(); err != nil {
				return err
			}
			clear(s.open)
		}
		var err error
		if p, err = s.begin(name); err != nil {
			return err
		}
	}
	p.Rows++
	p.Bytes += int64(len(line)) + 1
	return writeRow(p.out, line)
}

// begin begins a part, whose file must not be there.
func (s *splitting) begin(name string) (*part, error) {
	path := s.stem + "-" + name + ".jsonl"
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("write %s: it is there already: choose another --dir", path)
	}
	if len(s.open) == maxParts {
		return nil, fmt.Errorf("there are more than %d models or urls", maxParts)
	}
	out, err := rowfile.Create(path, s.files.paths)
	if err != nil {
		return nil, err
	}
	p := &part{File: path, out: out}
	s.parts = append(s.parts, p)
	s.open[name] = p
	return p, nil
}

func (s *splitting) commit() error {
	for _, p := range s.parts {
		if err := p.out.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (s *splitting) discard() {
	for _, p := range s.parts {
		p.out.Discard()
	}
}

func (s *splitting) print(env app.Env, asJSON bool) error {
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	if !asJSON {
		fmt.Fprintln(w, "ROWS\tBYTES\tFILE")
	}
	for _, p := range s.parts {
		if asJSON {
			_ = out.Encode(p) //nolint:errchkjson // Flush tells
		} else {
			fmt.Fprintf(w, "%d\t%d\t%s\n", p.Rows, p.Bytes, printable(p.File))
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print parts: %w", err)
	}
	return nil
}
