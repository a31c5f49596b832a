package failpoint

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The environment variables that arm a program built with the tag failpoint.
const (
	EnvTrap  = "BATCHBUS_FAILPOINT"       // <point>:<moment>:<k>[:<action>], see [ParseTrap]
	EnvTrace = "BATCHBUS_FAILPOINT_TRACE" // a file that every passage is appended to, a line each
)

// ExitUnknown is the exit code of an armed process that passes a point which [Table] does not have.
const ExitUnknown = 97

// Action is what a trap does to its own process.
type Action string

// The actions. Both come at once: nothing more of the process runs.
const (
	Kill Action = "kill" // SIGKILL
	Stop Action = "stop" // SIGSTOP: it goes on where it was when somebody sends SIGCONT
)

// Trap says at which passage of which point a process ends or stops, once. The zero value is no trap.
type Trap struct {
	Passage
	K      int // at the K-th passage, from 1
	Action Action
}

// ErrTrap is returned when a trap's text does not have the form <point>:<before|after>:<k>[:kill|stop], or names a point that is not in the
// table.
var ErrTrap = errors.New("no trap")

// ParseTrap reads a trap; no text is none.
func ParseTrap(text string) (Trap, error) {
	if text == "" {
		return Trap{}, nil
	}
	parts := append(strings.Split(text, ":"), string(Kill))
	if len(parts) < 4 || len(parts) > 5 {
		return Trap{}, fmt.Errorf("parse %q: %w", text, ErrTrap)
	}
	k, err := strconv.Atoi(parts[2])
	t := Trap{Passage: Passage{Point(parts[0]), Moment(parts[1])}, K: k, Action: Action(parts[3])}
	known := slices.Contains(Moments(), t.Moment) && (t.Action == Kill || t.Action == Stop) && Known(t.Point)
	if err != nil || k < 1 || !known {
		return Trap{}, fmt.Errorf("parse %q: %w", text, ErrTrap)
	}
	return t, nil
}

// String is the trap's text.
func (t Trap) String() string {
	return fmt.Sprintf("%s:%d:%s", t.Passage, t.K, t.Action)
}

// Listener is what a registry of an armed process tells. It is safe for concurrent use, and one passage at a time.
type Listener struct {
	mu    sync.Mutex
	trap  Trap
	seen  int // passages of the trap's
	trace io.Writer
	act   func(Action)
	alien func(Point)
}

// NewListener returns a listener that writes passages to trace, which may be nil, does the trap's action by act, and tells alien of a point
// that [Table] does not have.
func NewListener(trap Trap, trace io.Writer, act func(Action), alien func(Point)) *Listener {
	return &Listener{trap: trap, trace: trace, act: act, alien: alien}
}

// Pass takes one passage.
func (l *Listener) Pass(p Passage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !Known(p.Point) {
		l.alien(p.Point)
	}
	if l.trace != nil {
		_, _ = io.WriteString(l.trace, p.String()+"\n") // a trace that is cut short fails the test that reads it
	}
	if l.trap.K == 0 || p != l.trap.Passage {
		return
	}
	if l.seen++; l.seen == l.trap.K {
		l.act(l.trap.Action)
	}
}
