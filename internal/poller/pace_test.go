package poller_test

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/poller"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestPace(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) *time.Time { at := start().Add(d); return &at }
	hold := &events.Hold{Code: events.HoldNeedsAttention}
	for _, c := range []struct {
		name string
		age  time.Duration
		edit func(b *events.Batch)
		want time.Duration // without the jitter
	}{
		{"a young batch waits for the floor", time.Second, nil, 30 * time.Second},
		{"a clock that went back is young too", -time.Hour, nil, 30 * time.Second},
		{"an older one waits a share of its age", time.Hour, nil, 3 * time.Minute},
		{"an old one waits for the ceiling", 20 * time.Hour, nil, 10 * time.Minute},
		{"one that ends soon is asked for then", time.Hour, func(b *events.Batch) { b.ETAAt = in(61 * time.Minute) }, time.Minute},
		{"one that ends at once waits for the floor", time.Hour, func(b *events.Batch) { b.ETAAt = in(time.Hour + 1) }, 30 * time.Second},
		{"one that should have ended does not", time.Hour, func(b *events.Batch) { b.ETAAt = in(time.Minute) }, 3 * time.Minute},
		{"one whose window ends soon is asked for then", 10 * time.Hour, func(b *events.Batch) { b.ExpiresAt = in(10*time.Hour + 3*time.Minute) }, 3*time.Minute + time.Second},
		{"one whose window ends just now once more", 10 * time.Hour, func(b *events.Batch) { b.ExpiresAt = in(10 * time.Hour) }, 30 * time.Second},
		{"an overdue one waits for the ceiling", time.Minute, func(b *events.Batch) { b.Overdue = true }, 10 * time.Minute},
		{"one in doubt waits for the ceiling", time.Minute, func(b *events.Batch) { b.Hold = hold }, 10 * time.Minute},
		{"without a time of submission its state's counts", time.Hour, func(b *events.Batch) { b.SubmittedAt = nil }, 3 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := submitted()
			if c.edit != nil {
				c.edit(b)
			}
			wait := pace().Interval(b, start().Add(c.age))
			if wait > c.want || wait <= c.want-c.want/10 {
				t.Errorf("%s, want %s or up to a tenth less", wait, c.want)
			}
		})
	}
}

func TestPaceIsBoundedAndStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		floor := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "floor"))
		p := poller.Pace{Floor: floor, Ceiling: floor + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "more"))}
		b, now := submitted(), start().Add(time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, "age")))
		b.Overdue = rapid.Bool().Draw(t, "overdue")
		if rapid.Bool().Draw(t, "estimated") {
			eta := start().Add(time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, "eta")))
			b.ETAAt = &eta
		}
		wait := p.Interval(b, now)
		if wait < p.Floor-p.Floor/10 || wait > p.Ceiling || wait != p.Interval(b, now) {
			t.Errorf("%s, then %s, between %s and %s", wait, p.Interval(b, now), p.Floor, p.Ceiling)
		}
	})
}

func TestBatchesDoNotFallDueAtOnce(t *testing.T) {
	t.Parallel()
	waits := map[time.Duration]bool{}
	for n := range 100 {
		b := submitted()
		b.N = strconv.Itoa(n)
		waits[pace().Interval(b, start()).Truncate(100*time.Millisecond)] = true
	}
	if len(waits) < 20 {
		t.Errorf("100 batches fall due at %d times", len(waits))
	}
}
