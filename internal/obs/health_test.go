package obs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/obs"
)

// bus is a connection that a test cuts.
type bus struct {
	away bool
	back uint64
}

func (b *bus) IsConnected() bool  { return !b.away }
func (b *bus) Reconnects() uint64 { return b.back }

func TestAProcessLivesWhileItsLoopsBeat(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := obs.NewHealth(func() time.Time { return now }, map[string]time.Duration{"fast": time.Second, "slow": time.Hour})
	connection := &bus{}
	h.Connect("service", connection)
	now = now.Add(24 * time.Hour)
	ok(t, h.Live()) // it starts
	h.Start()
	now = now.Add(3 * time.Second)
	ok(t, h.Live())
	now = now.Add(time.Millisecond)
	if err := h.Live(); err == nil || !strings.Contains(err.Error(), "fast") || strings.Contains(err.Error(), "slow") {
		t.Errorf("a silent loop: %v", err)
	}
	h.Beat("fast")
	h.Beat("unknown")
	ok(t, h.Live())

	connection.away = true
	now = now.Add(time.Minute)
	ok(t, h.Live()) // no fault of the loops
	connection.away = false
	now = now.Add(time.Second)
	ok(t, h.Live())
	now = now.Add(time.Minute)
	if h.Live() == nil {
		t.Error("a loop that stays silent after the bus came back lives")
	}
	connection.back++ // lost and back between two looks
	ok(t, h.Live())
	now = now.Add(time.Minute)
	if h.Live() == nil {
		t.Error("one reconnect excuses a loop for ever")
	}
	h.Drain()
	ok(t, h.Live())
}

func TestAProcessIsReadyWhileItCanWork(t *testing.T) {
	t.Parallel()
	h := obs.NewHealth(time.Now, nil)
	connection, drift := &bus{}, error(nil)
	h.Connect("service", connection)
	h.Check(func() error { return drift })
	want := func(part string) {
		t.Helper()
		err := h.Ready()
		if part == "" && err != nil || part != "" && (err == nil || !strings.Contains(err.Error(), part)) {
			t.Errorf("%v, want %q", err, part)
		}
	}
	want("starting")
	h.Start()
	want("")
	connection.away = true
	want("connection of service")
	connection.away, drift = false, errors.New("a stream is gone")
	want("a stream is gone")
	drift = nil
	want("")
	h.Drain()
	want("draining")
}
