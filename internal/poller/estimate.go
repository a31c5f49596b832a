package poller

import (
	"math"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

const (
	// rateMemory is which share of the time since rows began to settle the rate remembers: so a long even run weighs more than one poll, and a
	// tail that is slower than the rest shows after an eighth of the run.
	rateMemory = 8
	// minMemory keeps the first polls from meaning nothing.
	minMemory = 30 * time.Second
	// least is the rate below which no end is promised: a row in twelve days.
	least = 1e-6
	// longestRest is the longest rest that is promised.
	longestRest = 30 * 24 * time.Hour
)

// estimate brings rate and expected end up to date with the provider's counts, before they are put into b.
//
// The rate is smoothed over time, not over polls, and falls while nothing settles. The rest that is promised is never shorter than the time
// since a row last settled: when the slowest rows come last, the end moves out instead of being the same minute for hours. It is put
// anew at each poll, always after now, so a promise is never passed by more than one [Pace.Interval], a twentieth of the batch's age. Rows that
// run again (counts that went down) begin a new measurement.
func estimate(b *events.Batch, counts events.Counts, now time.Time) {
	settled := counts.Completed + counts.Failed
	fresh := settled - b.Counts.Completed - b.Counts.Failed
	if fresh < 0 {
		b.RatePerSec, b.RateSince = 0, nil
	}
	measure(b, max(fresh, 0), now)
	b.ETAAt = nil
	open := counts.Total - settled
	if open <= 0 || b.RatePerSec <= least {
		return
	}
	rest := time.Duration(min(float64(open)/b.RatePerSec, longestRest.Seconds()) * float64(time.Second))
	eta := now.Add(max(rest, now.Sub(*b.ProgressAt), time.Second))
	b.ETAAt = &eta
}

// measure takes note of rows that settled since the last poll.
func measure(b *events.Batch, fresh int, now time.Time) {
	last := b.SinceAt
	if b.PolledAt != nil {
		last = *b.PolledAt
	}
	elapsed := max(now.Sub(last).Seconds(), 1e-3)
	rate := float64(fresh) / elapsed
	if b.RateSince == nil {
		if fresh > 0 {
			b.RatePerSec, b.RateSince = rate, &last
		}
		return
	}
	memory := max(now.Sub(*b.RateSince)/rateMemory, minMemory).Seconds()
	b.RatePerSec += (1 - math.Exp(-elapsed/memory)) * (rate - b.RatePerSec)
}
