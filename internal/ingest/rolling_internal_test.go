package ingest

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/events"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestARollingJobIsNamedByItsWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at     string
		linger time.Duration
		want   string
	}{
		{"2026-11-30T02:11:00Z", time.Minute, "auto-20261130T021100Z-60"},
		{"2026-11-30T02:11:59.999999999Z", time.Minute, "auto-20261130T021100Z-60"},
		{"2026-11-30T02:12:00Z", time.Minute, "auto-20261130T021200Z-60"},
		{"2026-11-30T03:11:30+01:00", time.Minute, "auto-20261130T021100Z-60"},
		{"2026-11-30T02:11:59Z", time.Hour, "auto-20261130T020000Z-3600"},
		{"2026-11-30T02:11:59.5Z", 0, "auto-20261130T021159Z-1"},
	} {
		if got := events.RollingAt(at(t, c.at), c.linger).Job(); got != c.want {
			t.Errorf("%s with linger %s: got %s, want %s", c.at, c.linger, got, c.want)
		}
	}
}

func TestEveryMomentBelongsToTheWindowThatItsJobNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		moment := time.Unix(0, rapid.Int64Range(0, 1<<62).Draw(t, "ns"))
		linger := time.Duration(rapid.IntRange(1, 1<<20).Draw(t, "seconds")) * time.Second
		w := events.RollingAt(moment, linger)
		if moment.Before(w.Start) || !moment.Before(w.End) || w.End.Sub(w.Start) != linger {
			t.Fatalf("%s is not in %v", moment, w)
		}
		got, ok := events.ParseRolling(w.Job())
		if !ok || got != w || !events.IsToken(w.Job()) {
			t.Fatalf("%s parses as %v, %v, want %v", w.Job(), got, ok, w)
		}
	})
}

func TestOnlyNamesThatBatchbusMakesAreWindows(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "nightly", "auto-", "auto-20261130T021100Z", "auto-20261130T021100Z-0", "auto-20261130T021100Z--60", "auto-20261130T021100Z-060",
		"auto-20261130T021101Z-60", "auto-20261130T021100-60", "auto-20261130T021100Z-60-1", "auto-20261330T021100Z-60",
	} {
		if w, ok := events.ParseRolling(name); ok {
			t.Errorf("%q is taken for %v", name, w)
		}
	}
}

func TestAWindowOfTheServiceIsInForceForQueuesWithoutAPolicy(t *testing.T) {
	t.Parallel()
	for window, want := range map[time.Duration]time.Duration{0: time.Minute, 90 * time.Second: 90 * time.Second, time.Millisecond: time.Second} {
		policies := DefaultPolicies{Window: window}
		linger, err := policies.Linger(t.Context(), "default", time.Time{})
		policy, policyErr := policies.Policy(t.Context(), "default")
		if err != nil || policyErr != nil || linger != want || policy.LingerSeconds != int(want/time.Second) {
			t.Errorf("window %s: linger %s %v, policy %d s %v, want %s", window, linger, err, policy.LingerSeconds, policyErr, want)
		}
	}
}
