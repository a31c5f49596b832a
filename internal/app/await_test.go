package app_test

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/natsd"
)

// service runs the poller's program until stop, which returns its exit code and what it printed.
func service(t *testing.T, args ...string) (stop func() (code int, stderr string)) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	var errs strings.Builder
	ended := make(chan int, 1)
	env := app.Env{Args: args, Lookup: lookup(map[string]string{app.EnvKey: "sk-secret"}), Stdout: &errs, Stderr: &errs}
	go func() { ended <- app.Main(ctx, env, app.Poller) }()
	return func() (int, string) {
		t.Helper()
		cancel(&app.SignalError{Signal: syscall.SIGTERM})
		return <-ended, errs.String()
	}
}

// awaitReady waits until /readyz answers so, and returns the text.
func awaitReady(t *testing.T, admin string, want int) string {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		status, text := ask(t, admin, "/readyz")
		if status == want {
			return text
		}
		if time.Now().After(deadline) {
			t.Fatalf("/readyz says %d: %s", status, text)
		}
	}
}

func TestAServiceThatStartsWhileTheBusIsAwayWaitsForItInTheOpen(t *testing.T) {
	t.Parallel()
	address, admin := freeAddress(t), freeAddress(t)
	stop := service(t, "--nats="+address, "--admin="+admin, "--setup")
	text := awaitReady(t, admin, http.StatusServiceUnavailable)
	for !strings.Contains(text, "waiting for the bus") { // it is just starting
		text = awaitReady(t, admin, http.StatusServiceUnavailable)
	}
	if !strings.Contains(text, "nats://"+address) {
		t.Errorf("/readyz says %q", text)
	}
	if status, text := ask(t, admin, "/livez"); status != http.StatusOK {
		t.Errorf("a restart would not help, yet /livez says %d %q", status, text)
	}
	there, err := natsd.Start(t.Context(), natsd.Options{Dir: t.TempDir(), Listen: address, MaxStore: 1 << 30})
	ok(t, err)
	defer there.Shutdown()
	awaitReady(t, admin, http.StatusOK)
	code, stderr := stop()
	if code != app.ExitTerminated {
		t.Errorf("exit code %d", code)
	}
	for _, line := range []string{"the bus is away: waiting for it", "the bus is there"} {
		if strings.Count(stderr, line) != 1 {
			t.Errorf("%q is not once in %q", line, stderr)
		}
	}
}

func TestAServerWithoutJetStreamIsWaitedForAndNamedAtOnce(t *testing.T) {
	t.Parallel()
	admin := freeAddress(t)
	stop := service(t, "--nats="+bus(t, server.Options{}), "--admin="+admin, "--setup")
	begun := time.Now()
	text := awaitReady(t, admin, http.StatusServiceUnavailable)
	for !strings.Contains(text, "is it enabled on this server") {
		text = awaitReady(t, admin, http.StatusServiceUnavailable)
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("/readyz says %q", text)
		}
	}
	if code, stderr := stop(); code != app.ExitTerminated || !strings.Contains(stderr, "is it enabled on this server") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

func TestABusThatStaysAwayIsAFaultWhenTheTimeIsOver(t *testing.T) {
	t.Parallel()
	code, _, stderr := program(t, map[string]string{app.EnvKey: "sk-secret"}, "--nats=nats://127.0.0.1:1", "--admin=", "--connect-timeout=300ms")
	if code != app.ExitFault || !strings.Contains(stderr, "poller: connect to the bus: connect to nats://127.0.0.1:1") || strings.Contains(stderr, "sk-secret") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

func TestAStopWhileTheBusIsAwayIsNoFault(t *testing.T) {
	t.Parallel()
	admin := freeAddress(t)
	stop := service(t, "--nats=nats://127.0.0.1:1", "--admin="+admin)
	awaitReady(t, admin, http.StatusServiceUnavailable)
	if code, stderr := stop(); code != app.ExitTerminated || strings.Contains(stderr, "poller: ") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// What no waiting ends is told at once, however long a bus may be waited for.
func TestRefusedCredentialsAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	url := bus(t, server.Options{Username: "somebody", Password: "else", JetStream: true, StoreDir: t.TempDir()})
	code, _, stderr := program(t, map[string]string{app.EnvKey: "sk-secret"}, "--nats="+url, "--admin=")
	if code != app.ExitFault || !strings.Contains(stderr, "Authorization Violation") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}
