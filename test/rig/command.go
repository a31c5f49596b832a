//go:build unix

package rig

import (
	"bytes"
	"errors"
	"os/exec"
	"testing"
)

// Outcome is how a command ended.
type Outcome struct {
	Code           int
	Stdout, Stderr []byte
}

// Command runs a built program to its end, within [Patience], in the folder dir; the environment is [CleanEnv] and env.
func Command(t testing.TB, dir string, env []string, name string, args ...string) Outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(Patiently(t), Program(name), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, append(CleanEnv(), env...), dieWithUs()
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			t.Fatalf("run %s: %v", name, err)
		}
	}
	return Outcome{cmd.ProcessState.ExitCode(), stdout.Bytes(), stderr.Bytes()}
}

// CLI runs batchbus to its end against this deployment, with its bus, its provider and the API key.
func (d *Deployment) CLI(args ...string) Outcome {
	d.t.Helper()
	env := append([]string{"DOUBLEWORD_API_KEY=" + APIKey, "BATCHBUS_NATS=" + d.Direct.NATS, "BATCHBUS_PROVIDER_URL=" + d.Direct.Provider + "/v1"}, d.trust...)
	return Command(d.t, d.t.TempDir(), env, "batchbus", args...)
}
