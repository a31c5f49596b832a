package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/estimate"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/internal/rowfile"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

type estimateCommand struct {
	Files        []string `arg:"" name:"file" help:"JSONL files of rows, folders of them, patterns, or - for standard input."`
	Prices       string   `placeholder:"FILE" help:"JSON file with the prices of models: see examples/prices.json. Default: none, and tokens are counted alone."`
	Model        string   `help:"Model for rows that name none."`
	Window       string   `default:"24h" help:"Completion window, which prices depend on."`
	OutputTokens int64    `default:"2048" placeholder:"N" help:"Tokens of an answer whose row does not bound it."`
	JSON         bool     `name:"json" help:"Print the estimate as one JSON object."`
}

// Help is shown below the flags. A test runs what is indented.
func (e *estimateCommand) Help() string {
	return `Nothing is sent anywhere. Input is a token for every three bytes of a body, output what a row allows: high rather than low, but no bound.

    batchbus estimate rows.jsonl --output-tokens 500`
}

// estimated is what rows may take.
type estimated struct {
	Rows    int              `json:"rows"`
	BadRows int              `json:"bad_rows,omitempty"` // are not counted, as they are not sent
	Tokens  events.Usage     `json:"tokens"`
	Cost    *events.Cost     `json:"cost"`          // null when some model has no price
	Real    *events.Cost     `json:"realtime_cost"` // null when some model has none outside of batches
	Assumed int64            `json:"assumed_output_tokens"`
	Groups  []estimatedGroup `json:"groups"`
}

// estimatedGroup is the same of the rows of one model and url.
type estimatedGroup struct {
	events.GroupKey
	estimate.Sum
	Tokens events.Usage `json:"tokens"`
	Cost   *events.Cost `json:"cost"`
	Real   *events.Cost `json:"realtime_cost"`
}

// run estimates what the rows of files may take and cost.
func (e *estimateCommand) run(ctx context.Context, env app.Env) (int, error) {
	files, err := resolveFiles(ctx, env, e.Files)
	if err != nil {
		return app.ExitFault, err
	}
	table, err := app.PriceFlags{Prices: e.Prices}.Table()
	if err != nil {
		return app.ExitFault, err
	}
	policy := events.DefaultPolicy()
	policy.DefaultModel = e.Model
	found := estimated{Assumed: max(e.OutputTokens, 0)}
	sums, rules := make(map[events.GroupKey]estimate.Sum), rulesOf(&policy)
	err = files.each(func(_ string, file *rowfile.File) error {
		_, err := eachRow(bufio.NewReader(file), rules, func(_ rows.Line, row rows.Row, fault *rows.Fault) {
			if fault != nil {
				found.BadRows++
				return
			}
			key := events.GroupKey{Window: e.Window, URL: row.URL, Model: row.Model}
			sum := sums[key]
			sum.Add(estimate.OfRow(row.URL, row.Body))
			sums[key] = sum
		})
		return err
	})
	if err != nil {
		return app.ExitFault, err
	}
	found.add(sums, table)
	if found.Rows == 0 {
		return app.ExitFault, fmt.Errorf("%s: no valid row among %d: batchbus validate says why", e.Files[0], found.BadRows)
	}
	if e.JSON {
		return app.ExitOK, printJSON(env, found)
	}
	return app.ExitOK, found.print(env.Stdout, table != nil)
}

// add adds up the groups, in the order of their models.
func (e *estimated) add(sums map[events.GroupKey]estimate.Sum, table *prices.Table) {
	for key, sum := range sums {
		tokens := sum.Tokens(e.Assumed)
		e.Groups = append(e.Groups, estimatedGroup{
			GroupKey: key, Sum: sum, Tokens: tokens, Cost: table.Cost(key.Model, key.Window, &tokens), Real: table.Realtime(key.Model, &tokens),
		})
	}
	slices.SortFunc(e.Groups, func(a, b estimatedGroup) int { return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.URL, b.URL)) })
	for i := range e.Groups {
		g := &e.Groups[i]
		e.Rows += g.Rows
		e.Tokens.Add(g.Tokens)
		e.Cost, e.Real = plusCost(e.Cost, g.Cost, i == 0), plusCost(e.Real, g.Real, i == 0)
	}
}

// plusCost is the sum of two costs of one table; nil, unknown, when one of them is.
func plusCost(sum, cost *events.Cost, first bool) *events.Cost {
	switch {
	case first:
		return cost
	case sum == nil || cost == nil:
		return nil
	}
	return &events.Cost{Amount: sum.Money().Plus(cost.Money()).String(), Currency: cost.Currency, Basis: cost.Basis}
}

// print prints the estimate for people.
func (e *estimated) print(to io.Writer, priced bool) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tURL\tROWS\tINPUT\tOUTPUT\tCOST\tREALTIME")
	for i := range e.Groups {
		g := &e.Groups[i]
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", printable(g.Model), printable(g.URL), g.Rows, g.Tokens.PromptTokens,
			g.Tokens.CompletionTokens, costText(g.Cost), costText(g.Real))
	}
	if len(e.Groups) > 1 {
		fmt.Fprintf(w, "all\t\t%d\t%d\t%d\t%s\t%s\n", e.Rows, e.Tokens.PromptTokens, e.Tokens.CompletionTokens, costText(e.Cost), costText(e.Real))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print estimate: %w", err)
	}
	for _, note := range e.notes(priced) {
		fmt.Fprintln(to, note)
	}
	return nil
}

// notes say what the figures rest on.
func (e *estimated) notes(priced bool) []string {
	notes := []string{fmt.Sprintf("All figures are estimates in tokens, from %d bytes a token of input.", estimate.BytesPerToken)}
	var unbounded int64
	var unpriced []string
	for i := range e.Groups {
		unbounded += e.Groups[i].Unbounded
		if priced && e.Groups[i].Cost == nil && !slices.Contains(unpriced, e.Groups[i].Model) {
			unpriced = append(unpriced, e.Groups[i].Model)
		}
	}
	if unbounded > 0 {
		notes = append(notes, fmt.Sprintf("%d answers have no bound (max_tokens): %d tokens are assumed of each.", unbounded, e.Assumed))
	}
	if e.BadRows > 0 {
		notes = append(notes, fmt.Sprintf("%d rows are bad and not counted: batchbus validate says why.", e.BadRows))
	}
	switch {
	case !priced:
		notes = append(notes, "No prices are given: --prices FILE.")
	case len(unpriced) > 0:
		notes = append(notes, printable("The table has no price of "+strings.Join(unpriced, ", ")+"."))
	}
	return notes
}

// costText is a cost in a table.
func costText(c *events.Cost) string {
	if c == nil {
		return "-"
	}
	return c.Amount + " " + printable(c.Currency)
}
