package deploy_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that runs beside the test and never outlives it.
type process struct {
	t    *testing.T
	name string
	args []string
	env  []string
	cmd  *exec.Cmd
	out  output
	peak int64         // bytes of resident memory at most, of all lives
	over chan struct{} // closed when this life has ended
}

// launch starts a program for the length of the test.
func launch(t *testing.T, name string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, args: args, env: append(cleanEnv(), env...)}
	p.start()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("output of %s %s:\n%s", name, strings.Join(args, " "), p.out.tail())
		}
	})
	return p
}

// start begins a life of the process.
func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(program(p.name), p.args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.env, &p.out, &p.out
	p.cmd.SysProcAttr = dieWithUs()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	cmd, over := p.cmd, make(chan struct{})
	p.over = over
	go func() {
		defer close(over)
		_ = cmd.Wait() // its ProcessState says how it ended
	}()
}

// ended tells whether this life is over.
func (p *process) ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// kill ends the process at once, by kill -9, if it runs.
func (p *process) kill() {
	if p.ended() {
		return
	}
	p.measure()
	_ = p.cmd.Process.Kill() // it may just have ended
	<-p.over
}

// stop asks the process to end and returns its exit code.
func (p *process) stop() int {
	p.t.Helper()
	p.measure()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Errorf("stop %s: %v", p.name, err)
	}
	<-p.over
	return p.cmd.ProcessState.ExitCode()
}

// measure notes the most memory of this life so far.
func (p *process) measure() { p.peak = max(p.peak, peakMemory(p.cmd.Process.Pid)) }

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

// maxTail is how much of a process's output a failed test shows.
const maxTail = 8 << 10

// output holds what a process printed. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the output.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) tail() string {
	text := o.String()
	return text[max(0, len(text)-maxTail):]
}

// patience is how long a test waits for what other processes bring about.
const patience = 3 * time.Minute

// eventually waits until done: across processes there is no signal to wait for but what they leave behind.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waiting until %s: %s have passed", what, patience)
		}
	}
}
