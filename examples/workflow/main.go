// Command workflow is an example of multi-stage work: it sends rows as a batch job, runs the tool calls that the model asked for with functions that
// only read, sends the next stage's rows as a dependent job, and so on until the model has answered, with receipts and hard caps. README.md beside
// it says how to run it; package flow is where to read on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/batchbus/batchbus/examples/workflow/flow"
	"github.com/batchbus/batchbus/examples/workflow/tools"
	"github.com/batchbus/batchbus/pkg/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code) //nolint:forbidigo // this is a main
}

// Exit codes.
const (
	exitAnswered   = 0 // every row was answered
	exitUnanswered = 1 // the workflow is over, and some rows have no answer
	exitUnfinished = 2 // it is not over: the same command goes on
)

// execute is the program.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitAnswered
	}
	var threads []*flow.Thread
	if err == nil {
		ctx, cancel := o.limited(ctx)
		defer cancel()
		threads, err = o.run(ctx, stderr)
	}
	if threads == nil && err != nil {
		fmt.Fprintf(stderr, "workflow: nothing was begun: %v\n", err)
		return exitUnfinished
	}
	if o.nats == "" {
		fmt.Fprintln(stdout, "SIMULATED: no model ran")
	}
	all := flow.WriteSummary(stdout, threads)
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "workflow: it is not over, the same command goes on: %v\n", err)
		return exitUnfinished
	case !all:
		return exitUnanswered
	}
	return exitAnswered
}

func (o *options) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, o.timeout)
}

// run leads all rows as far as it can, and writes the report in any case.
func (o *options) run(ctx context.Context, stderr io.Writer) (threads []*flow.Thread, err error) {
	registry, err := tools.New(tools.Limits{Timeout: o.toolTimeout, ResultBytes: o.caps.ResultBytes}, tools.Local(o.now)...)
	if err != nil {
		return nil, err
	}
	if threads, err = o.load(registry.Definitions()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.writeReport(threads)) }()
	bus, err := o.open(ctx, stderr)
	if err != nil {
		return threads, err
	}
	defer func() { err = errors.Join(err, bus.close()) }()
	receipts, err := flow.OpenKV(ctx, bus.store.JetStream())
	if err != nil {
		return threads, err
	}
	c := client.New(bus.store)
	config := flow.Config{
		Bus: c, Receipts: receipts, Tools: registry, Queue: o.queue, Job: o.job, Caps: o.caps,
		Say: func(line string) { fmt.Fprintln(stderr, line) },
	}
	unwatch := watch(ctx, c, config)
	defer unwatch()
	return threads, flow.Run(ctx, config, threads)
}

// writeReport writes a line for each row.
func (o *options) writeReport(threads []*flow.Thread) error {
	file, err := os.Create(o.report) //nolint:gosec // the user named it
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return errors.Join(flow.WriteLines(file, threads), file.Close())
}
