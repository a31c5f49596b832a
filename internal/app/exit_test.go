package app_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/batchbus/batchbus/internal/app"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	signalled := func(s os.Signal) context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(&app.SignalError{Signal: s})
		return ctx
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	fault := errors.New("fault")
	for _, c := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // a table of arguments
		err  error
		want int
	}{
		{"nothing happened", context.Background(), nil, 0},
		{"a fault", context.Background(), fault, 2},
		{"a stop that was asked for", stopped, nil, 0},
		{"a fault after it", stopped, fault, 2},
		{"SIGINT", signalled(os.Interrupt), nil, 130},
		{"SIGTERM", signalled(syscall.SIGTERM), nil, 143},
		{"a fault that a signal brought", signalled(syscall.SIGTERM), fault, 143},
	} {
		if got := app.ExitCode(c.ctx, c.err); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAProcessEndsAsItsSignalSays(t *testing.T) {
	t.Parallel()
	for s, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, "obedient", "")
			p.line()
			ok(t, p.cmd.Process.Signal(s))
			if code := exitOf(t, p).ExitCode(); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
		})
	}
}

func TestTheSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, "stubborn", "")
	p.line()
	ok(t, p.cmd.Process.Signal(syscall.SIGTERM))
	if cause := p.line(); !strings.Contains(cause, syscall.SIGTERM.String()) {
		t.Errorf("cause %q", cause)
	}
	ok(t, p.cmd.Process.Signal(syscall.SIGTERM))
	status, is := exitOf(t, p).Sys().(syscall.WaitStatus)
	if !is || !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("%v", status)
	}
}

func TestSignalsEndsWithItsParent(t *testing.T) {
	t.Parallel()
	parent, cancel := context.WithCancel(context.Background())
	ctx, stop := app.Signals(parent)
	defer stop()
	cancel()
	<-ctx.Done()
	if code := app.ExitCode(ctx, nil); code != 0 {
		t.Error(code)
	}
}

func exitOf(t *testing.T, p *process) *os.ProcessState {
	t.Helper()
	err := p.cmd.Wait()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return exit.ProcessState
	}
	t.Fatalf("it ended without a fault: %v", err)
	return nil
}
