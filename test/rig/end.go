//go:build unix

package rig

import (
	"fmt"
	"slices"
	"syscall"
)

// End is how a life of a process ended.
type End struct {
	Code   int            // the exit code; -1 after a signal
	Signal syscall.Signal // the signal that ended it; 0 for none
	Ours   bool           // by Kill or Stop of the test
}

// KilledItself tells whether the process ended by a SIGKILL that was not the test's: a failpoint did it.
func (e End) KilledItself() bool { return e.Signal == syscall.SIGKILL && !e.Ours }

// String says it for people.
func (e End) String() string {
	switch {
	case e.Ours:
		return "ended by the test"
	case e.Signal != 0:
		return "ended by signal: " + e.Signal.String()
	default:
		return fmt.Sprintf("ended with exit code %d", e.Code)
	}
}

// End waits for the end of this life and says how it ended.
func (p *Process) End() End {
	<-p.over
	end := End{Code: p.cmd.ProcessState.ExitCode(), Ours: p.ours}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.Signal = status.Signal()
	}
	return end
}

// Ends are how all lives ended that are over, in their order.
func (p *Process) Ends() []End {
	if !p.Ended() {
		return slices.Clone(p.past)
	}
	return append(slices.Clone(p.past), p.End())
}
