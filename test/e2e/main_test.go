// Package e2e runs the built batchbus binary as a user does: real processes, real signals, exit codes and files. The binary is built
// without the race detector, whose memory and time would be what is measured.
package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "batchbus-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir, "../../cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	os.Setenv(binDir, dir)
	return m.Run()
}

// binDir is the environment variable that holds the folder of the built programs.
const binDir = "BATCHBUS_E2E_BIN"

func program(name string) string { return filepath.Join(os.Getenv(binDir), name) }

// outcome is how a program ended.
type outcome struct {
	code           int
	stdout, stderr string
	peak           int64 // bytes of resident memory at most
}

// process is a program that runs in a folder of its own.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *bytes.Buffer
	stop           context.CancelFunc
	peak           peak
}

func start(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	return startProgram(t, "batchbus", dir, env, args...)
}

func startProgram(t *testing.T, name, dir string, env []string, args ...string) *process {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	p := &process{cmd: exec.CommandContext(ctx, program(name), args...), stop: stop, stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	p.cmd.Dir = dir
	p.cmd.Env = append(cleanEnv(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.peak = samplePeak(p.cmd.Process.Pid)
	return p
}

// cleanEnv is the environment without what would change what batchbus does.
func cleanEnv() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "DOUBLEWORD_") && !strings.HasPrefix(pair, "BATCHBUS_") {
			env = append(env, pair)
		}
	}
	return env
}

func (p *process) wait(t *testing.T) outcome {
	t.Helper()
	defer p.stop()
	err := p.cmd.Wait()
	most := p.peak.end(peakMemory(p.cmd.ProcessState))
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	state := p.cmd.ProcessState
	return outcome{code: exitCode(state), stdout: p.stdout.String(), stderr: p.stderr.String(), peak: most}
}

// batchbus runs the program to its end.
func batchbus(t *testing.T, dir string, env []string, args ...string) outcome {
	t.Helper()
	return start(t, dir, env, args...).wait(t)
}

func (o outcome) want(t *testing.T, code int, stderr ...string) {
	t.Helper()
	if o.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", o.code, code, o.stdout, o.stderr)
	}
	for _, text := range stderr {
		if !strings.Contains(o.stderr, text) {
			t.Errorf("stderr does not say %q:\n%s", text, o.stderr)
		}
	}
}

// summary is what --json prints.
type summary struct {
	Job       string `json:"job"`
	Simulated bool   `json:"simulated"`
	Rows      struct {
		Total       int `json:"total"`
		Succeeded   int `json:"succeeded"`
		Failed      int `json:"failed"`
		Expired     int `json:"expired"`
		Cancelled   int `json:"cancelled"`
		Rejected    int `json:"rejected"`
		DeadLetters int `json:"dead_letters"`
	} `json:"rows"`
	Truncated int `json:"truncated"`
	Batches   []struct {
		N               string `json:"n"`
		State           string `json:"state"`
		ProviderBatchID string `json:"provider_batch_id"`
		InputFileID     string `json:"input_file_id"`
	} `json:"batches"`
	OutputFile string `json:"output_file"`
	ErrorsFile string `json:"errors_file"`
}

func (o outcome) summary(t *testing.T) summary {
	t.Helper()
	var s summary
	if err := json.Unmarshal([]byte(o.stdout), &s); err != nil {
		t.Fatalf("stdout is no summary: %v\n%s\n%s", err, o.stdout, o.stderr)
	}
	return s
}

func writeFile(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// lines decodes a file of JSON lines.
func lines(t *testing.T, path string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var decoded []map[string]any
	for line := range bytes.Lines(data) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s: %v: %s", path, err, line)
		}
		decoded = append(decoded, v)
	}
	return decoded
}

const goodRow = `{"custom_id":"%s","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"hello"}],"max_tokens":64}}` + "\n"
