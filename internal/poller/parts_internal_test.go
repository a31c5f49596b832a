package poller

import (
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestAPathIsReadOnlyWhenItIsOurs(t *testing.T) {
	t.Parallel()
	for path, ours := range map[string]bool{
		"BUS7/default/nightly/1/":   true,
		"BUS7/default/nightly/5-1/": true,
		"BUS7/default/nightly/1":    false,
		"BUS7/default/nightly/1/x":  false,
		"BUS7/default/nightly/1//":  false,
		"BUS7/default/nightly/":     false,
		"BUS7/default//1/":          false,
		"BUS7/de.fault/nightly/1/":  false,
		"BUS7/default/*/1/":         false,
		"BUS70/default/nightly/1/":  false,
		"XBUS7/default/nightly/1/":  false,
		"bus7/default/nightly/1/":   false,
		"BUS7/":                     false,
		"":                          false,
		"BUS7/default/" + strings.Repeat("n", 65) + "/1/": false,
	} {
		queue, job, n, ok := parsePath(path, "BUS7")
		if ok != ours {
			t.Errorf("%q: %v", path, ok)
		}
		if again := "BUS7/" + queue + "/" + job + "/" + n + "/"; ok && again != path {
			t.Errorf("%q was read as %q", path, again)
		}
	}
}

func TestABatchIsStrangeWhileItRunsOrHasHadAnswersLately(t *testing.T) {
	t.Parallel()
	now := time.Now()
	some := doubleword.Counts{Total: 2, Completed: 1}
	for name, c := range map[string]struct {
		b    doubleword.Batch
		want bool
	}{
		"running for long":             {doubleword.Batch{Status: "in_progress", CreatedAt: now.Add(-72 * time.Hour)}, true},
		"in an unknown status":         {doubleword.Batch{Status: "pondering"}, true},
		"completed today":              {doubleword.Batch{Status: "completed", Counts: some, CreatedAt: now.Add(-23 * time.Hour)}, true},
		"cancelled today with answers": {doubleword.Batch{Status: "cancelled", Counts: some, CreatedAt: now}, true},
		"cancelled without answers":    {doubleword.Batch{Status: "cancelled", CreatedAt: now}, false},
		"failed before it had rows":    {doubleword.Batch{Status: "failed", CreatedAt: now}, false},
		"completed long ago":           {doubleword.Batch{Status: "completed", Counts: some, CreatedAt: now.Add(-25 * time.Hour)}, false},
	} {
		if got := isStrange(&c.b, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestATickComesInWholeSecondsNotBelowTheFloor(t *testing.T) {
	t.Parallel()
	for floor, want := range map[time.Duration]time.Duration{
		1: time.Second, time.Second: time.Second, 1500 * time.Millisecond: 2 * time.Second, 30 * time.Second: 30 * time.Second,
	} {
		if got := tickInterval(floor); got != want {
			t.Errorf("%s: %s", floor, got)
		}
	}
}

func TestSweepsAreSpreadByATenth(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for range 100 {
		d := spread(time.Minute)
		if d < 54*time.Second || d > 66*time.Second {
			t.Fatal(d)
		}
		seen[d] = true
	}
	if len(seen) < 50 {
		t.Errorf("%d different waits of 100", len(seen))
	}
}

func TestAMissingKeyHoldsOnlyWhatNothingElseHolds(t *testing.T) {
	t.Parallel()
	missing, attention := &events.Hold{Code: events.HoldKeyMissing}, &events.Hold{Code: events.HoldNeedsAttention}
	for _, c := range []struct {
		hold       *events.Hold
		configured bool
		want       events.Kind
		code       string
	}{
		{nil, true, "", ""},
		{nil, false, events.BatchHeld, events.HoldKeyMissing},
		{missing, false, "", events.HoldKeyMissing},
		{missing, true, events.BatchResumed, ""},
		{attention, false, "", events.HoldNeedsAttention},
		{attention, true, "", events.HoldNeedsAttention},
	} {
		b := events.Batch{Key: "main", Hold: c.hold}
		kinds := holdKey(&b, c.configured, time.Now())
		var got events.Kind
		if len(kinds) == 1 {
			got = kinds[0]
		}
		code := ""
		if b.Hold != nil {
			code = b.Hold.Code
		}
		if got != c.want || code != c.code {
			t.Errorf("%+v: event %q, hold %q", c, got, code)
		}
	}
}
