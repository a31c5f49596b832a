package poller

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// Decide puts what the provider says of a batch into its state, and returns the events that tell of it: none when nothing changed but
// the time of the next poll. A batch that has ended by its status while its counts leave rows open is a changing picture, and waited for
// until its window is over; then it has ended, and the collector answers for the rows that no file holds. Counts that cannot be true count for
// nothing. It is pure.
func Decide(b *events.Batch, remote doubleword.Batch, now time.Time, pace Pace) []events.Kind {
	counts := events.Counts(remote.Counts)
	changed := counts != b.Counts || remote.Status != b.Status
	if changed || b.ProgressAt == nil {
		b.ProgressAt = &now
	}
	estimate(b, counts, now)
	b.Counts, b.Status, b.PolledAt = counts, remote.Status, &now
	kinds := judgeDoubt(b, now, pace)
	b.OutputFileID, b.ErrorFileID = keep(b.OutputFileID, remote.OutputFileID), keep(b.ErrorFileID, remote.ErrorFileID)
	if end := windowEnd(b, &remote); !end.IsZero() {
		b.ExpiresAt = &end
	}
	late := b.ExpiresAt != nil && now.After(*b.ExpiresAt)
	if remote.Terminal() || contradicts(b, &remote) || late && !remote.Alive() {
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
	if b.Why = why(b); remote.CountsImpossible {
		b.Why += "; its counts cannot be true and are ignored (counts_contradict)"
	}
	if isStuck(b, now, pace) {
		b.Why += ": needs attention"
	}
	next := now.Add(pace.Interval(b, now))
	b.NextPollAt = &next
	return kinds
}

// contradicts reports whether a completed batch counts more rows than it was sent with: such counts say nothing of rows that are open, so it has
// ended by its status, and the collector looks for its rows.
func contradicts(b *events.Batch, remote *doubleword.Batch) bool {
	return remote.Status == doubleword.StatusCompleted && b.Rows > 0 && remote.Counts.Total > b.Rows
}

// windowEnd is when b's window ends: as the provider says, or else as it was asked for, so that a batch is overdue some time at every provider.
func windowEnd(b *events.Batch, remote *doubleword.Batch) time.Time {
	if !remote.ExpiresAt.IsZero() || b.ExpiresAt != nil || b.SubmittedAt == nil {
		return remote.ExpiresAt
	}
	window, err := time.ParseDuration(b.Window)
	if err != nil || window <= 0 {
		return time.Time{}
	}
	return b.SubmittedAt.Add(window)
}

// judgeDoubt ends the doubt about a batch for which the provider answers again, and that with its own key; but one that stands still in a
// status that it should leave within seconds needs attention, which is said once.
func judgeDoubt(b *events.Batch, now time.Time, pace Pace) []events.Kind {
	b.LastError, b.NextTryAt, b.UnknownSince, b.Unanswered = "", nil, nil, 0
	doubted := b.Hold != nil && (b.Hold.Code == events.HoldNeedsAttention || b.Hold.Code == events.HoldKeyMissing)
	switch stuck := isStuck(b, now, pace); {
	case stuck && b.Hold == nil:
		message := fmt.Sprintf("the provider has said %s for longer than %s: needs attention", b.Status, pace.Stuck)
		b.Hold = &events.Hold{Code: events.HoldNeedsAttention, Message: message, At: now}
		return []events.Kind{events.BatchNeedsAttention}
	case doubted && !stuck:
		b.Hold = nil
		return []events.Kind{events.BatchResumed}
	}
	return nil
}

// isStuck reports whether the provider shows b for too long as if it were about to begin or to end. A batch without any progress that is
// in_progress is not stuck: a cold model does not begin for most of the window.
func isStuck(b *events.Batch, now time.Time, pace Pace) bool {
	passing := b.Status == doubleword.StatusValidating || b.Status == doubleword.StatusFinalizing
	return passing && b.ProgressAt != nil && now.Sub(*b.ProgressAt) >= pace.Stuck
}

// DecideUnknown notes that the provider did not answer for the batch, or does not know it. It is asked again after its interval, and not
// before the provider wants to be asked. It returns an event once, when that has lasted for patience. It is pure but for err's text.
func DecideUnknown(b *events.Batch, err error, now time.Time, pace Pace) []events.Kind {
	if b.UnknownSince == nil {
		b.UnknownSince, b.Unanswered = &now, 0
	}
	b.Unanswered++
	asked := asksToWait(err)
	next := now.Add(max(pace.Interval(b, now), asked))
	b.NextPollAt, b.NextTryAt = &next, &next
	b.LastError = cut(err.Error())
	lasted := now.Sub(*b.UnknownSince)
	switch {
	case asked > 0:
		b.Why = fmt.Sprintf("the provider asks to wait until %s (try %d)", next.UTC().Format(time.RFC3339), b.Unanswered)
	default:
		b.Why = fmt.Sprintf("the provider has not answered for this batch for %s (try %d); asking again", lasted.Round(time.Second), b.Unanswered)
	}
	if lasted < pace.Patience {
		return nil
	}
	b.Why = fmt.Sprintf("the provider has not answered for this batch for %s (try %d): needs attention", pace.Patience, b.Unanswered)
	if b.Hold != nil {
		return nil
	}
	b.Hold = &events.Hold{Code: events.HoldNeedsAttention, Message: b.Why, At: now}
	return []events.Kind{events.BatchNeedsAttention}
}

// longestAsked bounds what the provider can ask for: more is a mistake.
const longestAsked = time.Hour

// asksToWait is for how long the provider wants to be left alone; 0 when it did not say.
func asksToWait(err error) time.Duration {
	e, ok := errors.AsType[*doubleword.Error](err)
	if !ok {
		return 0
	}
	return min(e.RetryAfter, longestAsked)
}

func why(b *events.Batch) string {
	since := ""
	switch b.Status {
	case doubleword.StatusInProgress:
	case doubleword.StatusValidating, doubleword.StatusFinalizing:
		since = " since " + b.ProgressAt.UTC().Format(time.RFC3339)
	case doubleword.StatusCompleted:
		return "the provider says it is completed, but its counts leave rows open: asking on"
	default:
		return fmt.Sprintf("the provider says %q, which is no status we know: asking on", cut(b.Status))
	}
	if b.Overdue {
		return "past the completion window: the provider still runs it, asking on"
	}
	return "the provider runs it: " + b.Status + since
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
