// Command simulator runs the simulated batch provider as a process of its own.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulator:", err)
		os.Exit(1)
	}
}

// run parses the arguments and serves until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	parser, err := kong.New(&o,
		kong.Name("simulator"),
		kong.Description("A simulated Doubleword batch provider. Nothing is paid and no model runs. GET /_simulator/ledger says what was asked of it and what ran; "+
			"GET /_simulator/faults is the array of faults, and PUT replaces it while it runs."),
		kong.DefaultEnvars("BATCHBUS_SIMULATOR"),
		kong.UsageOnError(),
	)
	if err != nil {
		return fmt.Errorf("build command line: %w", err)
	}
	if _, err := parser.Parse(args); err != nil {
		return fmt.Errorf("parse command line: %w", err)
	}
	if o.Health {
		return probe(ctx, o.Listen)
	}
	return serve(ctx, o, out)
}
