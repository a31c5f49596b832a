package rig

import (
	"context"
	"net"
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

// FreeAddress is a loopback address that nobody listens on at the moment. Another may take it before the caller does; ports go round, so
// that this takes many thousand calls.
func FreeAddress(t testing.TB) string {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
