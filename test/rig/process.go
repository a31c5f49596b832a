//go:build unix

package rig

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Process is a program that runs beside the test and never outlives it. It has one life after another: each ends by itself, by [Process.Kill]
// or by [Process.Stop], and Start begins the next.
type Process struct {
	Name string
	// Admin is the address of a service's /livez, /readyz and /metrics; empty for other programs.
	Admin string
	// URL is a gateway's base URL; empty for other programs.
	URL string
	// Peak is the most resident memory in bytes of all lives, as far as Measure, Kill and Stop saw it; 0 where it cannot be known.
	Peak int64

	t    testing.TB
	args []string
	env  []string
	cmd  *exec.Cmd
	out  output
	ours bool          // we ended this life
	past []End         // how the lives before this one ended
	over chan struct{} // closed when this life has ended
}

// Launch starts a built program, or any other by its path, for the length of the test. The environment is [CleanEnv] and env, in every
// life. When the test has failed, the end of its output is logged.
func Launch(t testing.TB, name string, env []string, args ...string) *Process {
	t.Helper()
	return launch(t, name, env, nil, args...)
}

// launch is Launch with an environment for the first life only.
func launch(t testing.TB, name string, env, first []string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, Name: name, args: args, env: append(CleanEnv(), env...)}
	p.Start(first...)
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("output of %s %s:\n%s", name, strings.Join(args, " "), p.out.tail())
		}
	})
	return p
}

// Start begins a life of the process; env holds for this life only. It waits for the end of the life before.
func (p *Process) Start(env ...string) {
	p.t.Helper()
	if p.cmd != nil {
		p.past = append(p.past, p.End())
	}
	path := p.Name
	if !strings.Contains(path, "/") {
		path = Program(path)
	}
	// The process ends by Kill in the test's cleanup, after which no context of the test is needed.
	p.cmd = exec.CommandContext(context.Background(), path, p.args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = append(slices.Clone(p.env), env...), &p.out, &p.out
	p.cmd.SysProcAttr = dieWithUs()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatalf("start %s: %v", p.Name, err)
	}
	cmd, over := p.cmd, make(chan struct{})
	p.over, p.ours = over, false
	go func() {
		defer close(over)
		_ = cmd.Wait() // its ProcessState says how it ended
	}()
}

// Over is closed when the present life has ended.
func (p *Process) Over() <-chan struct{} { return p.over }

// Ended tells whether this life is over.
func (p *Process) Ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// Output is all that the process has printed in all its lives. It is safe for concurrent use.
func (p *Process) Output() string { return p.out.String() }

// PID is the process id of the present life.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the process at once, by kill -9, and waits until it is gone; one that has ended is left.
func (p *Process) Kill() {
	if p.Ended() {
		return
	}
	p.Measure()
	p.ours = true
	_ = p.cmd.Process.Kill() // it may just have ended
	<-p.over
}

// Stop asks the process to end by SIGTERM, waits, and returns its exit code.
func (p *Process) Stop() int {
	p.t.Helper()
	p.Measure()
	p.ours = true
	p.signal(syscall.SIGTERM)
	<-p.over
	return p.cmd.ProcessState.ExitCode()
}

// Pause stops the process where it is (SIGSTOP), as a machine does that swaps or migrates, until Resume.
func (p *Process) Pause() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
}

// Resume lets a paused process go on (SIGCONT).
func (p *Process) Resume() {
	p.t.Helper()
	p.signal(syscall.SIGCONT)
}

func (p *Process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("send %s to %s: %v", s, p.Name, err)
	}
}

// Measure notes the most memory of this life so far.
func (p *Process) Measure() { p.Peak = max(p.Peak, peakMemory(p.PID())) }

// Paused tells whether the process stands still, by its own SIGSTOP or ours; always false where that cannot be known.
func (p *Process) Paused() bool { return !p.Ended() && standsStill(p.PID()) }
