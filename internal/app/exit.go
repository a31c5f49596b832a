package app

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes of every program of batchbus.
const (
	ExitOK          = 0
	ExitRows        = 1   // the job finished with rows that did not succeed
	ExitFault       = 2   // usage, configuration, provider, bus or wait failure
	ExitInterrupted = 130 // SIGINT
	ExitTerminated  = 143 // SIGTERM
)

// SignalError is the cause of a context that a signal ended.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return "stopped by signal: " + e.Signal.String() }

// Signals returns a context that ends, with a [*SignalError] as its cause, at the first SIGINT or SIGTERM. From then on signals have
// their default effect again, so that a second one ends the process at once. Call stop to release the signals.
func Signals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(&SignalError{Signal: s})
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, func() { cancel(nil) }
}

// ExitCode is the exit code for a stopped program: 130 or 143 when a signal ended ctx, else 2 for an error and 0 for none.
func ExitCode(ctx context.Context, err error) int {
	if stopped, ok := errors.AsType[*SignalError](context.Cause(ctx)); ok {
		if stopped.Signal == syscall.SIGTERM {
			return ExitTerminated
		}
		return ExitInterrupted
	}
	if err != nil {
		return ExitFault
	}
	return ExitOK
}
