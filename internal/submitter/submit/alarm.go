package submit

import (
	"context"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// alarmAfter is how long a batch waits on its way to the provider, or for its cancel, for whatever reasons in turn, until a person is asked to look: longer than a
// fence after an unanswered create takes, and than an outage that nobody can shorten usually lasts.
const alarmAfter = 30 * time.Minute

// alarm takes note of how a drive ended, and asks a person once to look at a batch that has not found its way for long. It closes the kind: every
// reason to wait has an end or this event, those of a later version too. What says so by itself is left out: a hold, and the quota of an
// unverified account, which becomes one.
func (d *drive) alarm(ctx context.Context, next step) error {
	m, now := d.memory, time.Now()
	if next.delay <= 0 || d.batch.N == "" || d.batch.State.Ended() || d.batch.Hold != nil || next.why == whyQuota {
		m.waitsSince, m.alarmed = time.Time{}, false
		return nil
	}
	if m.waitsSince.IsZero() {
		m.waitsSince = now
	}
	waited := now.Sub(m.waitsSince)
	if m.alarmed || waited < alarmAfter {
		return nil
	}
	note := fmt.Sprintf("waits for %s: %s", waited.Round(time.Minute), next.why)
	d.log.Error().Str("why", next.why).Dur("waited", waited).Msg("batch waits for long")
	b := d.batch
	b.Revision = 0 // replaces none, and makes the event's id the same for every replica: it is told once
	change := jobs.NewChange(now)
	change.BatchEvent(&b, events.BatchNeedsAttention, note)
	if err := d.config.Jobs.Commit(ctx, change); err != nil && !jobs.IsConflict(err) {
		return err
	}
	m.alarmed = true
	return nil
}
