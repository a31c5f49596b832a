package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/app"
)

// roleVariable makes this test binary play a process of its own.
const roleVariable = "APP_TEST_ROLE"

// child plays a role and returns its exit code. Its parent talks to it by stdin and stdout.
func child(role, argument string) int {
	switch role {
	case "holder": // holds a data directory until it is killed
		if _, err := app.LockDir(argument, "simulator"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("locked")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	case "stubborn": // does not end at the first signal
		ctx, stop := app.Signals(context.Background())
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println(context.Cause(ctx))
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	default: // ends at the first signal
		ctx, stop := app.Signals(context.Background())
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		return app.ExitCode(ctx, nil)
	}
}

// process is a child that runs.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Reader
}

func start(t *testing.T, role, argument string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], argument)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	ok(t, err)
	stdout, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	t.Cleanup(func() { _ = stdin.Close() })
	return &process{t: t, cmd: cmd, lines: bufio.NewReader(stdout)}
}

// line reads the child's next line.
func (p *process) line() string {
	p.t.Helper()
	line, err := p.lines.ReadString('\n')
	ok(p.t, err)
	return strings.TrimSpace(line)
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
