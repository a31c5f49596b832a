package rig

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Patience is how long a test waits for what other processes bring about.
const Patience = 3 * time.Minute

// pace is how often a wait looks.
const pace = 20 * time.Millisecond

// Eventually waits until done, for [Patience] at most: across processes there is no signal to wait for but what they leave behind.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !Within(Patience, done) {
		t.Fatalf("waiting until %s: %s have passed", what, Patience)
	}
}

// Within waits until done and tells whether that came within the timeout.
func Within(timeout time.Duration, done func() bool) bool {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return false
		}
	}
	return true
}

// Patiently is a context for one wait of the test: it ends with the test, or after [Patience].
func Patiently(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Ports between these are below those that systems give to outgoing connections (Linux from 32768, others from 49152): what listens there
// and dies finds its port free when it starts again.
const (
	firstPort = 10000
	lastPort  = 32000
)

// ports counts the addresses of this process, from a place of its own: it is a variable of the program since it must be one of the process.
var ports atomic.Uint32

// FreeAddress is a loopback address that nobody listens on at the moment, and that this process has not had before, for twenty thousand calls.
// It is safe for concurrent use.
func FreeAddress(t testing.TB) string {
	t.Helper()
	ports.CompareAndSwap(0, rand.Uint32N(lastPort-firstPort))
	var listen net.ListenConfig
	for {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(firstPort+ports.Add(1)%(lastPort-firstPort))))
		listener, err := listen.Listen(t.Context(), "tcp", address)
		switch {
		case err == nil:
			listener.Close()
			return address
		case !errors.Is(err, syscall.EADDRINUSE):
			t.Fatal(err)
		}
	}
}
