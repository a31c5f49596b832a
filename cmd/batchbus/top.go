package main

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/top"
)

type topCommand struct {
	Queue    string        `help:"Only the jobs of this queue. Default: all."`
	Interval time.Duration `default:"2s" placeholder:"DURATION" help:"Pause between two looks at the bus."`

	busFlags
}

// Help is what --help adds.
func (*topCommand) Help() string {
	return `Keys: up and down choose a job, enter shows its batches, / filters by queue, name, state or hold, c cancels (after a y), r resumes what is held,
a shows ended jobs too, esc goes back, q quits.

  batchbus top --nats nats://127.0.0.1:4222 --queue night`
}

// run shows the live view until it is left. Without a terminal it says what to use instead.
func (t *topCommand) run(ctx context.Context, env app.Env) (int, error) {
	in, isFile := env.Stdin.(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) || !isTerminal(env.Stdout) {
		return app.ExitFault, errors.New("top needs a terminal; in a pipe use batchbus list --json, status --json or watch --json")
	}
	if t.Interval < 100*time.Millisecond {
		return app.ExitFault, errors.New("--interval: at least 100ms")
	}
	return t.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		view := top.Config{Source: bus.Client, Queue: t.Queue, Interval: t.Interval, Text: printable}
		if t.Data != "" {
			view.Note = "no services run: " + t.Data + " is only looked at"
		}
		return app.ExitOK, top.Run(ctx, view, in, env.Stdout)
	})
}
