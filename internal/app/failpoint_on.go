//go:build failpoint

package app

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/batchbus/batchbus/internal/failpoint"
)

// failpoints arms a program that was built to be: by its environment it ends or stops itself at one point, and leaves a trace.
func failpoints(env Env) (*failpoint.Registry, error) {
	text, _ := env.Lookup(failpoint.EnvTrap)
	trap, err := failpoint.ParseTrap(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", failpoint.EnvTrap, err)
	}
	var trace io.Writer
	if name, _ := env.Lookup(failpoint.EnvTrace); name != "" {
		file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) // open until the process ends
		if err != nil {
			return nil, fmt.Errorf("%s: %w", failpoint.EnvTrace, err)
		}
		trace = file
	}
	alien := func(p failpoint.Point) {
		fmt.Fprintf(env.Stderr, "%s: the table of failpoints has no such point\n", p)
		os.Exit(failpoint.ExitUnknown)
	}
	return failpoint.NewRegistry(failpoint.NewListener(trap, trace, act, alien).Pass), nil
}

// act does to this process what a test asked for, while the listener keeps every other passage waiting.
func act(a failpoint.Action) {
	signal := syscall.SIGKILL
	if a == failpoint.Stop {
		signal = syscall.SIGSTOP
	}
	if err := syscall.Kill(os.Getpid(), signal); err != nil {
		panic(err)
	}
	if a == failpoint.Kill {
		select {} // the signal is on its way
	}
}
