package poller

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// rateWeight is the weight of the newest rate in the smoothed one.
const rateWeight = 0.3

// Decide puts what the provider says of a batch into its state, and returns the events that tell of it: none when nothing changed but
// the time of the next poll. A batch that has ended by its status while its counts leave rows open is a changing picture, and waited for
// until its window is over; then it has ended, and the collector answers for the rows that no file holds. It is pure.
func Decide(b *events.Batch, remote doubleword.Batch, now time.Time, pace Pace) []events.Kind {
	counts := events.Counts(remote.Counts)
	changed := counts != b.Counts || remote.Status != b.Status
	updateRate(b, counts, now)
	b.Counts, b.Status, b.PolledAt = counts, remote.Status, &now
	kinds := recovered(b)
	b.OutputFileID, b.ErrorFileID = keep(b.OutputFileID, remote.OutputFileID), keep(b.ErrorFileID, remote.ErrorFileID)
	if !remote.ExpiresAt.IsZero() {
		b.ExpiresAt = &remote.ExpiresAt
	}
	late := b.ExpiresAt != nil && now.After(*b.ExpiresAt)
	if remote.Terminal() || late && !remote.Alive() {
		b.State, b.SinceAt, b.FinishedAt = events.BatchFinished, now, &now
		b.Why, b.ETAAt, b.NextPollAt, b.NextTryAt = "", nil, nil, nil
		return append(kinds, events.BatchIsFinished)
	}
	if changed {
		kinds = append(kinds, events.BatchProgress)
	}
	if late && !b.Overdue {
		b.Overdue = true
		kinds = append(kinds, events.BatchOverdue)
	}
	b.Why = why(b)
	next := now.Add(pace.Interval(b, now))
	b.NextPollAt = &next
	return kinds
}

// recovered ends the doubt about a batch for which the provider answers again, and that with its own key.
func recovered(b *events.Batch) []events.Kind {
	b.LastError, b.UnknownSince = "", nil
	if b.Hold == nil || b.Hold.Code != events.HoldNeedsAttention && b.Hold.Code != events.HoldKeyMissing {
		return nil
	}
	b.Hold = nil
	return []events.Kind{events.BatchResumed}
}

// DecideUnknown notes that the provider did not answer for the batch, or does not know it. It returns an event once, when that has
// lasted for patience. It is pure but for err's text.
func DecideUnknown(b *events.Batch, err error, now time.Time, pace Pace) []events.Kind {
	next := now.Add(pace.Interval(b, now))
	b.NextPollAt = &next
	b.LastError = cut(err.Error())
	if b.UnknownSince == nil {
		b.UnknownSince = &now
	}
	lasted := now.Sub(*b.UnknownSince)
	b.Why = fmt.Sprintf("the provider has not answered for this batch for %s; asking again", lasted.Round(time.Second))
	if lasted < pace.Patience {
		return nil
	}
	b.Why = fmt.Sprintf("the provider has not answered for this batch for %s: needs attention", pace.Patience)
	if b.Hold != nil {
		return nil
	}
	b.Hold = &events.Hold{Code: events.HoldNeedsAttention, Message: b.Why, At: now}
	return []events.Kind{events.BatchNeedsAttention}
}

func why(b *events.Batch) string {
	switch b.Status {
	case doubleword.StatusValidating, doubleword.StatusInProgress, doubleword.StatusFinalizing:
	case doubleword.StatusCompleted:
		return "the provider says it is completed, but its counts leave rows open: asking on"
	default:
		return fmt.Sprintf("the provider says %q, which is no status we know: asking on", cut(b.Status))
	}
	if b.Overdue {
		return "past the completion window: the provider still runs it, asking on"
	}
	return "the provider runs it: " + b.Status
}

// updateRate smooths the rate over the polls that saw rows settle, and lets it fall when none did, so that the estimate moves out
// instead of promising the same minute for hours when the slowest rows come last.
func updateRate(b *events.Batch, counts events.Counts, now time.Time) {
	done, before := counts.Completed+counts.Failed, b.Counts.Completed+b.Counts.Failed
	since := b.SinceAt
	if b.PolledAt != nil {
		since = *b.PolledAt
	}
	elapsed := math.Max(now.Sub(since).Seconds(), 1e-3)
	rate := math.Max(float64(done-before), 0) / elapsed
	if b.RatePerSec == 0 {
		b.RatePerSec = rate
	} else {
		b.RatePerSec += rateWeight * (rate - b.RatePerSec)
	}
	b.ETAAt = nil
	if open := counts.Total - done; open > 0 && b.RatePerSec > 1e-6 {
		seconds := math.Min(float64(open)/b.RatePerSec, (30 * 24 * time.Hour).Seconds())
		eta := now.Add(time.Duration(seconds * float64(time.Second)))
		b.ETAAt = &eta
	}
}

func keep(have, said string) string {
	if said != "" {
		return said
	}
	return have
}

// cut keeps last errors and the like at 1 KiB (design.md section 4).
func cut(s string) string {
	if len(s) > 1024 {
		return strings.ToValidUTF8(s[:1021], "") + "…"
	}
	return s
}
