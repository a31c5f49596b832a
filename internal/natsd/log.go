package natsd

import (
	"fmt"
	"sync"
)

// logger passes the server's warnings and errors on and remembers its last fatal line, which is the only form in which
// nats-server says why it did not start.
type logger struct {
	to func(string)

	mu   sync.Mutex
	last string
}

func (l *logger) fatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *logger) say(format string, v []any) {
	if l.to != nil {
		l.to(fmt.Sprintf(format, v...))
	}
}

// Fatalf keeps the line for Start and passes it on.
func (l *logger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	l.last = fmt.Sprintf(format, v...)
	l.mu.Unlock()
	l.say(format, v)
}

// Errorf passes an error line on.
func (l *logger) Errorf(format string, v ...any) { l.say(format, v) }

// Warnf passes a warning on.
func (l *logger) Warnf(format string, v ...any) { l.say(format, v) }

// Noticef drops a notice.
func (l *logger) Noticef(string, ...any) {}

// Debugf drops a debug line.
func (l *logger) Debugf(string, ...any) {}

// Tracef drops a trace line.
func (l *logger) Tracef(string, ...any) {}
