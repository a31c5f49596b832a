package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/distinct"
	"github.com/batchbus/batchbus/internal/estimate"
	"github.com/batchbus/batchbus/internal/rowfile"
	"github.com/batchbus/batchbus/internal/rowstats"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

type statsCommand struct {
	Files []string `arg:"" name:"file" help:"JSONL files of rows, folders of them, patterns, or - for standard input."`
	Model string   `help:"Model for rows that name none."`
	JSON  bool     `name:"json" help:"Print the figures as JSON, as in a pipe."`
}

// Help is shown below the flags. A test runs what is indented.
func (s *statsCommand) Help() string {
	return `Rows, models, urls, sizes, estimated tokens, doubled ids and batches. Tokens of input are an estimate: one for every three bytes of a body.

    batchbus stats rows.jsonl more.jsonl`
}

// statsCount is a count on its way.
type statsCount struct {
	counter *rowstats.Counter
	ids     *distinct.Finder
	rules   *rows.Rules
	paths   []string
	files   int
}

// run counts what files hold. Bad and doubled rows are figures here, and no fault.
func (s *statsCommand) run(ctx context.Context, env app.Env) (int, error) {
	files, err := resolveFiles(ctx, env, s.Files)
	if err != nil {
		return app.ExitFault, err
	}
	policy := events.DefaultPolicy()
	policy.DefaultModel = s.Model
	count := statsCount{counter: rowstats.New(policy), ids: distinct.New(distinct.DefaultBuffer), rules: rulesOf(&policy), paths: files.paths}
	defer func() { _ = count.ids.Close() }() // it is a temporary file
	err = files.each(func(_ string, file *rowfile.File) error { return count.file(file) })
	if err != nil {
		return endedWriting(ctx, env, err)
	}
	stats, err := count.stats()
	switch {
	case err != nil:
		return app.ExitFault, err
	case stats.Rows == 0:
		return app.ExitFault, fmt.Errorf("%s: no rows: the input is empty", s.Files[0])
	case s.JSON || !isTerminal(env.Stdout):
		return app.ExitOK, printJSON(env, stats)
	}
	return app.ExitOK, printStats(env.Stdout, &stats)
}

func (c *statsCount) file(file io.Reader) error {
	var fault error
	_, err := eachRow(file, c.rules, func(line rows.Line, row rows.Row, bad *rows.Fault) {
		id, known := row.CustomID, true
		if bad == nil {
			c.counter.Good(len(line.Bytes), &row)
		} else {
			c.counter.Bad(len(line.Bytes), bad.Code)
			id, known = bad.CustomID, bad.HasCustomID
		}
		if known && fault == nil {
			fault = c.ids.Add(id, distinct.Place{File: c.files, Line: line.Number})
		}
	})
	c.files++
	return errors.Join(err, fault)
}

// shownDoubled is how many doubled rows are named.
const shownDoubled = 10

func (c *statsCount) stats() (rowstats.Stats, error) {
	s := c.counter.Stats()
	s.Files = c.files
	for pair, err := range c.ids.Doubled() {
		if err != nil {
			return s, err
		}
		if s.Doubled++; s.Doubled <= shownDoubled {
			s.FirstDoubled = append(s.FirstDoubled, rowstats.Doubled{
				File: c.paths[pair.Again.File], Line: pair.Again.Line, FirstFile: c.paths[pair.First.File], FirstLine: pair.First.Line,
			})
		}
	}
	return s, nil
}

// printStats prints the figures for people.
func printStats(to io.Writer, s *rowstats.Stats) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "rows\t%d in %d file(s), %d bad\n", s.Rows, s.Files, s.BadRows)
	for _, code := range slices.Sorted(maps.Keys(s.BadCodes)) {
		fmt.Fprintf(w, "\t%d %s\n", s.BadCodes[code], code)
	}
	fmt.Fprintf(w, "row bytes\tmin %d, median %d, p95 %d, max %d, total %d\n", s.Sizes.Min, s.Sizes.Median, s.Sizes.P95, s.Sizes.Max, s.Sizes.Total)
	fmt.Fprintf(w, "input tokens\tabout %d, an estimate: %d bytes of a body a token, %d tokens an image\n", s.InputTokens, estimate.BytesPerToken, estimate.ImageTokens)
	fmt.Fprintf(w, "output tokens\tat most %d, by max_tokens; %d row(s) have no bound\n", s.OutputTokens, s.Unbounded)
	fmt.Fprintf(w, "doubled ids\t%d\n", s.Doubled)
	for _, d := range s.FirstDoubled {
		fmt.Fprintf(w, "\t%s:%d, first at %s:%d\n", printable(d.File), d.Line, printable(d.FirstFile), d.FirstLine)
	}
	fmt.Fprintf(w, "batches\t%d, in a queue with the default limits\n\n", s.Batches)
	fmt.Fprintln(w, "MODEL\tURL\tROWS\tBYTES\tINPUT TOKENS\tMAX OUTPUT\tUNBOUNDED\tBATCHES")
	for i := range s.Groups {
		g := &s.Groups[i]
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", printable(g.Model), printable(g.URL), g.Rows, g.Bytes, g.InputTokens, g.OutputTokens, g.Unbounded, g.Batches)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print figures: %w", err)
	}
	return nil
}
