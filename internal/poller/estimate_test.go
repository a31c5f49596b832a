package poller_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/poller"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// curve is how many of a thousand rows have settled after a time.
type curve struct {
	name  string
	ends  time.Duration
	after func(time.Duration) int
	// factor is how many times longer than promised, from its begin on, the batch takes at most; 0: no matter.
	factor float64
}

func curves() []curve {
	share := func(t, of time.Duration) float64 { return math.Min(1, float64(t)/float64(of)) }
	return []curve{
		{"even", time.Hour, func(t time.Duration) int { return int(1000 * share(t, time.Hour)) }, 1.1},
		{"the last twentieth takes as long as the rest", 2 * time.Hour, func(t time.Duration) int {
			return int(950*share(t, time.Hour) + 50*share(max(0, t-time.Hour), time.Hour))
		}, 2},
		{"the last twentieth comes at once, after as long as the rest", 2 * time.Hour, func(t time.Duration) int {
			if t >= 2*time.Hour {
				return 1000
			}
			return int(950 * share(t, time.Hour))
		}, 2},
		{"nothing for 23 hours, since the model is cold", 24 * time.Hour, func(t time.Duration) int {
			return int(1000 * share(max(0, t-23*time.Hour), time.Hour))
		}, 1.1},
		{"ever slower", 4 * time.Hour, func(t time.Duration) int { return int(1000 * math.Sqrt(share(t, 4*time.Hour))) }, 0},
	}
}

func TestAnEstimateMovesOutBeforeItIsMissed(t *testing.T) {
	t.Parallel()
	for _, c := range curves() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, now := submitted(), start()
			for promised := (*time.Time)(nil); ; promised = b.ETAAt {
				done := c.after(now.Sub(start()))
				poller.Decide(b, doubleword.Batch{
					ID: "remote", Status: "in_progress", Counts: doubleword.Counts{Total: 1000, Completed: done}, ExpiresAt: start().Add(25 * time.Hour),
				}, now, pace())
				if promised != nil && now.Sub(*promised) > max(pace().Floor, now.Sub(start())/20) {
					t.Errorf("after %s a promise of %s still stood", now.Sub(start()), promised.Sub(start()))
				}
				if done == 1000 {
					return
				}
				if b.ETAAt == nil {
					if done > 0 {
						t.Fatalf("after %s with %d rows nothing is promised", now.Sub(start()), done)
					}
				} else if total := b.ETAAt.Sub(start()); total <= now.Sub(start()) || c.factor > 0 && float64(c.ends)/float64(total) > c.factor {
					t.Errorf("after %s, %d rows: %s promised of %s", now.Sub(start()), done, total, c.ends)
				}
				now = *b.NextPollAt
			}
		})
	}
}

func TestAnEstimateIsNeverPastNorShorterThanTheSilence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, now, done := submitted(), start(), 0
		settledAt := now
		for range rapid.IntRange(1, 60).Draw(t, "polls") {
			now = now.Add(time.Duration(rapid.Int64Range(1, int64(2*time.Hour)).Draw(t, "wait")))
			next := min(999, max(0, done+rapid.IntRange(-5, 50).Draw(t, "fresh")))
			if next != done {
				settledAt = now
			}
			done = next
			counts := doubleword.Counts{Total: 1000, Completed: done}
			poller.Decide(b, doubleword.Batch{ID: "remote", Status: "in_progress", Counts: counts}, now, pace())
			if math.IsNaN(b.RatePerSec) || b.RatePerSec < 0 {
				t.Fatalf("a rate of %v", b.RatePerSec)
			}
			if b.ETAAt != nil && (!b.ETAAt.After(now) || b.ETAAt.Sub(now) < now.Sub(settledAt) && len(b.Status) > 0 && b.ProgressAt.Equal(settledAt)) {
				t.Fatalf("%s promised after %s of silence", b.ETAAt.Sub(now), now.Sub(settledAt))
			}
		}
	})
}

// Contract 9.16: an operator's retry at the provider takes failed rows back.
func TestRowsThatRunAgainBeginANewMeasurement(t *testing.T) {
	t.Parallel()
	b, now := submitted(), start().Add(time.Hour)
	poller.Decide(b, said("in_progress", 2, 7), now, pace())
	now = now.Add(time.Minute)
	kinds := poller.Decide(b, said("in_progress", 2, 0), now, pace())
	if b.ETAAt != nil || b.RatePerSec != 0 || len(kinds) != 1 || kinds[0] != events.BatchProgress || b.Counts.Failed != 0 {
		t.Errorf("%v, rate %v, end %v, counts %+v", kinds, b.RatePerSec, b.ETAAt, b.Counts)
	}
	now = now.Add(time.Minute)
	poller.Decide(b, said("in_progress", 3, 0), now, pace())
	if b.ETAAt == nil || b.ETAAt.Sub(now).Round(time.Second) != 7*time.Minute {
		t.Errorf("seven rows at one a minute end at %v", b.ETAAt)
	}
}
