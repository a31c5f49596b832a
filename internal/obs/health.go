package obs

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Connection is what health asks of a connection to the bus.
type Connection interface {
	IsConnected() bool
	Reconnects() uint64
}

// silentRounds is for how many of its intervals a loop may be silent.
const silentRounds = 3

// errNotReady are why a process is not ready.
var (
	errStarting = errors.New("starting")
	errDraining = errors.New("draining")
)

// Health is whether a process lives and whether it is ready. It is safe for concurrent use.
type Health struct {
	now       func() time.Time
	intervals map[string]time.Duration // of each loop

	mu          sync.Mutex
	beats       map[string]time.Time
	connections map[string]Connection
	reconnects  map[string]uint64
	checks      []func() error
	awaited     error // what the start waits for
	started     bool
	draining    bool
}

// NewHealth returns the health of a process with the given loops: how long a round of each takes at most. now is the clock.
func NewHealth(now func() time.Time, intervals map[string]time.Duration) *Health {
	return &Health{
		now: now, intervals: intervals, beats: make(map[string]time.Time),
		connections: make(map[string]Connection), reconnects: make(map[string]uint64),
	}
}

// Connect adds a service's connection to the bus.
func (h *Health) Connect(service string, c Connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.connections[service] = c
}

// Check adds what must return nil for the process to be ready. It may block for some seconds.
func (h *Health) Check(check func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, check)
}

// Start says that all loops run from now on.
func (h *Health) Start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.started = true
	h.excuse()
}

// Await says what the start waits for; nil: for nothing any more.
func (h *Health) Await(reason error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.awaited = reason
}

// Drain says that the process has been told to end. It is not ready any more.
func (h *Health) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
}

// Beat is a sign of life of a loop; that of one that nobody watches is ignored.
func (h *Health) Beat(loop string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beats[loop] = h.now()
}

// Live returns an error that names every loop that has been silent for three of its intervals. While the bus is away, and for as long again
// after it came back, silence is no fault: a restart would not help.
func (h *Health) Live() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.started || h.draining {
		return nil // a start and a drain have deadlines of their own
	}
	if h.awayOrBack() {
		h.excuse()
		return nil
	}
	var faults []error
	for loop, interval := range h.intervals {
		if silent := h.now().Sub(h.beats[loop]); silent > silentRounds*interval {
			faults = append(faults, fmt.Errorf("loop %s has been silent for %s", loop, silent.Round(time.Second)))
		}
	}
	return errors.Join(faults...)
}

// excuse takes every loop as heard of just now.
func (h *Health) excuse() {
	for loop := range h.intervals {
		h.beats[loop] = h.now()
	}
}

// awayOrBack tells whether a connection is lost, or was since the last look.
func (h *Health) awayOrBack() bool {
	excused := false
	for service, c := range h.connections {
		n := c.Reconnects()
		excused = excused || !c.IsConnected() || n != h.reconnects[service]
		h.reconnects[service] = n
	}
	return excused
}

// Ready returns an error that says why the process cannot work now: it starts, it drains, the bus is away, or a check failed.
func (h *Health) Ready() error {
	if err := h.working(); err != nil {
		return err
	}
	h.mu.Lock()
	checks := h.checks
	h.mu.Unlock()
	faults := make([]error, len(checks))
	for i, check := range checks {
		faults[i] = check()
	}
	return errors.Join(faults...)
}

func (h *Health) working() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.draining:
		return errDraining
	case !h.started && h.awaited != nil:
		return fmt.Errorf("%w: %w", errStarting, h.awaited)
	case !h.started:
		return errStarting
	}
	var faults []error
	for service, c := range h.connections {
		if !c.IsConnected() {
			faults = append(faults, fmt.Errorf("the connection of %s to the bus is lost", service))
		}
	}
	return errors.Join(faults...)
}
