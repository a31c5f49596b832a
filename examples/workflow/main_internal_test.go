package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/batchbus/batchbus"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// asProgram in the environment makes this test binary the program.
const asProgram = "WORKFLOW_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	jetstoretest.Verify(m)
}

// program is the program in a process of its own, in the folder.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asProgram+"=1")
	return cmd
}

// outcome runs the program to its end.
func outcome(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// readme returns the commands of README.md that run the example, and the output that it shows.
func readme(t *testing.T) (commands []string, output string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		command, ours := strings.CutPrefix(strings.TrimSpace(block[1]), "go run ./examples/workflow")
		if !ours {
			t.Errorf("README shows %q, which no test runs", block[1])
		}
		commands = append(commands, command)
	}
	shown := regexp.MustCompile("(?ms)^```text\n(.*?)^```").FindStringSubmatch(string(text))
	if len(commands) != 3 || shown == nil {
		t.Fatalf("README shows %d commands, and the output %q", len(commands), shown)
	}
	return commands, shown[1]
}

// deployment is a bus with services that other processes reach.
func deployment(t *testing.T) string {
	t.Helper()
	ready := make(chan struct{})
	local, err := batchbus.OpenLocal(t.Context(), batchbus.LocalConfig{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Simulate: true, MaxStore: maxStore, Config: batchbus.Config{Ready: func() { close(ready) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- local.Run(serving) }()
	<-ready
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, local.Close()); err != nil {
			t.Error(err)
		}
	})
	return local.ClientURL()
}

// tokens of the example's answers depend on the time that one of the tools says.
var tokens = regexp.MustCompile(`\d+ tokens`)

func TestTheReadmesCommandsDoWhatItSays(t *testing.T) {
	t.Parallel()
	commands, shown := readme(t)
	dir := t.TempDir()
	stdout, stderr, code := outcome(t, program(t, dir, strings.Fields(commands[0])...))
	if code != 1 || tokens.ReplaceAllString(stdout, "") != tokens.ReplaceAllString(shown, "") || !strings.Contains(stderr, "SIMULATED") {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
	first := read(t, filepath.Join(dir, "workflow-report.jsonl"))
	if strings.Count(first, `"answer":null`) != 4 || strings.Count(first, "\n") != 12 {
		t.Errorf("report\n%s", first)
	}
	again, _, code := outcome(t, program(t, dir, strings.Fields(commands[0])...))
	if code != 1 || again != stdout || read(t, filepath.Join(dir, "workflow-report.jsonl")) != first {
		t.Errorf("run again: code %d\n%s", code, again)
	}
	small, _, code := outcome(t, program(t, dir, strings.Fields(commands[1])...))
	if code != 1 || !strings.Contains(small, ", 2 stages, 5 tool calls,") || !strings.Contains(small, "calls of all rows") {
		t.Errorf("the small one: code %d\n%s", code, small)
	}
	chat, err := filepath.Abs("../chat.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	command := strings.NewReplacer("nats://127.0.0.1:4222", deployment(t), "examples/chat.jsonl", chat).Replace(commands[2])
	stdout, stderr, code = outcome(t, program(t, dir, strings.Fields(command)...))
	if code != 1 || strings.Contains(stdout, "SIMULATED") || strings.Count(read(t, filepath.Join(dir, "report.jsonl")), `"status":"answered"`) != 4 {
		t.Errorf("on a deployment: code %d\n%s\n%s", code, stdout, stderr)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAKilledProgramIsRunAgainAndReportsTheSame(t *testing.T) {
	t.Parallel()
	args := []string{"-now", "2026-11-30T02:00:00Z"}
	whole, dir := t.TempDir(), t.TempDir()
	if _, stderr, code := outcome(t, program(t, whole, args...)); code != 1 {
		t.Fatalf("code %d\n%s", code, stderr)
	}
	for _, end := range []struct {
		stage  string
		wait   time.Duration // behind the line that tells of the stage
		signal os.Signal
	}{
		{"stage 1", 0, syscall.SIGKILL},
		{"stage 1", 700 * time.Millisecond, syscall.SIGKILL},
		{"stage 2", 0, os.Interrupt},
		{"stage 2", 300 * time.Millisecond, syscall.SIGKILL},
		{"stage 3", 1200 * time.Millisecond, syscall.SIGKILL},
		{"stage 4", 0, syscall.SIGKILL},
	} {
		code := endAt(t, program(t, dir, args...), end.stage, end.wait, end.signal)
		if end.signal == os.Interrupt && (code != 2 || !strings.Contains(read(t, filepath.Join(dir, "workflow-report.jsonl")), `"unfinished"`)) {
			t.Errorf("interrupted in %s: code %d", end.stage, code)
		}
	}
	stdout, stderr, code := outcome(t, program(t, dir, args...))
	if code != 1 {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
	got, want := read(t, filepath.Join(dir, "workflow-report.jsonl")), read(t, filepath.Join(whole, "workflow-report.jsonl"))
	if got != want {
		t.Errorf("it reports\n%s\nnot\n%s", got, want)
	}
	fake, err := simulator.New(simulator.Config{Dir: filepath.Join(dir, ".batchbus-workflow", "simulator")})
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	rows := 0
	for _, create := range fake.Ledger().Creates {
		rows += create.Rows
	}
	if ran := fake.Ledger().RowsRun; rows != 11+8+3+2 || ran != rows {
		t.Errorf("the provider was sent %d rows and ran %d", rows, ran)
	}
}

// endAt sends the program a signal some time after it has told of a stage, and returns its exit code.
func endAt(t *testing.T, cmd *exec.Cmd, stage string, wait time.Duration, signal os.Signal) int {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for found := false; !found; found = strings.HasPrefix(lines.Text(), stage+":") {
		if !lines.Scan() {
			t.Fatalf("it ended before %s: %v", stage, lines.Err())
		}
	}
	<-time.NewTimer(wait).C
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, stderr)
	_ = cmd.Wait() // how it ended is in its state
	return cmd.ProcessState.ExitCode()
}

func TestACommandLineThatCannotWorkIsExplained(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"a cap of nothing":     {[]string{"-max-stages", "0"}, "cap of stages", 2},
		"a name that is none":  {[]string{"-job", "a b"}, "name must be", 2},
		"a time that is none":  {[]string{"-now", "noon"}, "-now", 2},
		"no time for a tool":   {[]string{"-tool-timeout", "0"}, "-tool-timeout", 2},
		"two files":            {[]string{"a", "b"}, "one FILE", 2},
		"a file that is not":   {[]string{"absent.jsonl"}, "absent.jsonl", 2},
		"no rows at all":       {[]string{os.DevNull}, "there are none", 2},
		"more rows than a cap": {[]string{"-max-rows", "3"}, "cap of 3 rows", 2},
		"a request for help":   {[]string{"-h"}, "max-calls-per-row", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if code := execute(t.Context(), c.args, &stdout, &stderr); code != c.code || !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
				t.Errorf("code %d\n%s\n%s", code, stdout.String(), stderr.String())
			}
		})
	}
}
