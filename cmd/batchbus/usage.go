package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/budget"
	"github.com/batchbus/batchbus/internal/usage"
	"github.com/batchbus/batchbus/pkg/events"
)

type usageCommand struct {
	Queue  string `placeholder:"QUEUE" help:"Only this queue. Default: all."`
	Since  string `placeholder:"DAY" help:"Only batches from this day (UTC) on: 2026-12-01, or 7d for the last seven days. Default: all that the bus knows."`
	Prices string `placeholder:"FILE" help:"JSON file with prices, whose realtime prices are compared with what was spent: see examples/prices.json."`
	JSON   bool   `name:"json" help:"Print one JSON object a queue, one a line."`

	busFlags
}

// Help is shown below the flags. A test runs what is indented.
func (u *usageCommand) Help() string {
	return `Spent is what results cost by the price table of their time, reserved an estimate of what batches that run may use.

    batchbus usage --data .batchbus --since 7d`
}

// run shows what was spent.
func (u *usageCommand) run(ctx context.Context, env app.Env) (int, error) {
	since, err := sinceDay(u.Since, time.Now())
	if err != nil {
		return app.ExitFault, flagError("--since", err)
	}
	table, err := app.PriceFlags{Prices: u.Prices}.Table()
	if err != nil {
		return app.ExitFault, err
	}
	return u.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		report := usage.New(since, table)
		queues, err := u.read(ctx, bus, report)
		if err != nil {
			return app.ExitFault, err
		}
		if u.JSON {
			return app.ExitOK, jsonLines(env, queues)
		}
		return app.ExitOK, describeUsage(env.Stdout, queues)
	})
}

// sinceDay is the first day that is meant; empty: all of them.
func sinceDay(text string, now time.Time) (string, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 100_000 {
			return "", fmt.Errorf("%.20q is no number of days", text)
		}
		return budget.Day(now.UTC().AddDate(0, 0, 1-n)), nil
	}
	if _, err := time.Parse(time.DateOnly, text); text != "" && err != nil {
		return "", fmt.Errorf("%.20q is neither a day such as 2026-12-01 nor a number of days such as 7d", text)
	}
	return text, nil
}

// read adds up the batches, and reads limits and ledger of each queue that has any of them.
func (u *usageCommand) read(ctx context.Context, bus *app.Bus, report *usage.Report) ([]usage.Queue, error) {
	ledgers := make(map[string]*events.Ledger)
	for b, err := range bus.Jobs.Budgets(ctx) {
		if err != nil {
			return nil, err
		}
		if b.Spending != nil {
			ledgers[b.Queue] = b.Spending
		}
	}
	found := make(map[string]events.Batch) // one that changes meanwhile comes twice, the second time as it is now
	for b, err := range bus.Jobs.AllBatches(ctx) {
		if err != nil {
			return nil, err
		}
		found[b.StateKey()] = b.Batch
	}
	for _, b := range found {
		report.Add(&b)
	}
	names := report.Queues()
	for _, name := range slices.Sorted(maps.Keys(ledgers)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	queues := []usage.Queue{}
	for _, name := range names {
		if u.Queue != "" && u.Queue != name {
			continue
		}
		q := report.Queue(name)
		status, err := bus.Client.Queue(ctx, name)
		if err != nil {
			return nil, explain(err)
		}
		q.Limits, q.Ledger = status.Policy.Budget, ledgers[name]
		queues = append(queues, q)
	}
	return queues, nil
}

// describeUsage prints the queues for people.
func describeUsage(to io.Writer, queues []usage.Queue) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	if len(queues) == 0 {
		fmt.Fprintln(w, "no batch was planned")
	}
	for i := range queues {
		q := &queues[i]
		fmt.Fprintf(w, "queue %s\n", printable(q.Queue))
		for _, line := range limitLines(q) {
			fmt.Fprintln(w, "  "+printable(line))
		}
		fmt.Fprintln(w, "  DAY\tMODEL\tWINDOW\tBATCHES\tROWS\tINPUT\tOUTPUT\tSPENT\tBILLED\tSAVED\tRUNNING\tRESERVED*")
		for k := range q.Lines {
			l := &q.Lines[k]
			usageLine(w, l.Day, printable(l.Model), l.Window, &l.Sum)
		}
		if len(q.Lines) > 1 {
			usageLine(w, "all", "", "", &q.Total)
		}
	}
	fmt.Fprintln(w, "* estimated, where a limit is set. Saved is against realtime prices (--prices).")
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print usage: %w", err)
	}
	return nil
}

func usageLine(w io.Writer, day, model, window string, s *usage.Sum) {
	billed, saved, reserved := "-", "-", "-"
	if s.Bills > 0 {
		billed = s.Billed.String() + partly(s.Bills, s.Batches)
	}
	if s.Compared > 0 {
		saved = s.Saved.String() + partly(s.Compared, s.Batches)
	}
	if s.Reserved != (events.Amount{}) {
		reserved = amountText(s.Reserved)
	}
	fmt.Fprintf(w, "  %s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%d\t%s\n", day, model, window, s.Batches, s.Rows, s.Tokens.PromptTokens, s.Tokens.CompletionTokens,
		printable(spentText(s)), billed, saved, s.Running, reserved)
}

// partly says of how many batches a figure is, when it is not of all.
func partly(of, all int) string {
	if of == all {
		return ""
	}
	return fmt.Sprintf(" (of %d batches)", of)
}

func spentText(s *usage.Sum) string {
	switch {
	case s.Currency == "":
		return "-"
	case s.Basis == simulatedBasis:
		return s.Cost.String() + " " + s.Currency + " simulated"
	case s.Basis == events.MixedCurrencies:
		return s.Cost.String() + " " + s.Currency + " partly simulated"
	}
	return s.Cost.String() + " " + s.Currency
}

// limitLines say what each limit of the queue leaves.
func limitLines(q *usage.Queue) (lines []string) {
	var ledger events.Ledger
	if q.Ledger != nil {
		ledger = *q.Ledger
	}
	today := events.Spending{}
	if ledger.Day >= budget.Day(time.Now()) {
		today = ledger.Today
	}
	for _, l := range []struct {
		name  string
		limit int64
		money bool
		under events.Spending
	}{
		{name: "day_money", limit: int64(q.Limits.DayMoney), money: true, under: today},
		{name: "day_tokens", limit: q.Limits.DayTokens, under: today},
		{name: "queue_money", limit: int64(q.Limits.QueueMoney), money: true, under: ledger.Total},
		{name: "queue_tokens", limit: q.Limits.QueueTokens, under: ledger.Total},
	} {
		switch {
		case l.limit == 0:
		case l.money:
			lines = append(lines, fmt.Sprintf("limit %s %s: %s spent, %s reserved (estimated)", l.name, events.Money(l.limit), l.under.Spent.Money, l.under.Reserved.Money))
		default:
			lines = append(lines, fmt.Sprintf("limit %s %d: %d spent, %d reserved (estimated)", l.name, l.limit, l.under.Spent.Tokens, l.under.Reserved.Tokens))
		}
	}
	return lines
}
