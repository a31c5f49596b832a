package collector

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// What a batch waits for, in its state. A deadline is remembered beside it, so these texts must not change while it runs.
const (
	whyMissing  = "rows are in neither file"
	whyOutage   = "provider does not hand out the files"
	whyBill     = "provider has not added up its bill"
	whySlow     = "waiting for the provider's answers"
	whyManifest = "manifest is not in the object store"
)

// maxLastError is design.md 5.8's limit for the last error of a state.
const maxLastError = 1 << 10

// heldForPerson reports whether only a person can go on with b, or one has given it to the submitter. A missing key or manifest may come back
// by itself.
func heldForPerson(b *jobs.Batch) bool {
	return b.Wish != nil || isHeld(b, events.HoldPublish) || isHeld(b, events.HoldRowsOlder)
}

func isHeld(b *jobs.Batch, code string) bool { return b.Hold != nil && b.Hold.Code == code }

// hold makes b wait for a person, or for the world to change, visibly. One that is held for the same reason stays as it is. Whoever lost
// the race to change b leaves it to the next round.
func (s *Service) hold(ctx context.Context, b *jobs.Batch, code string, cause error) error {
	if isHeld(b, code) {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("hold %s: %w", b.StateKey(), ctx.Err()) // the stop may be the cause
	}
	change := jobs.NewChange(time.Now())
	b.Hold = &events.Hold{Code: code, Message: cut(cause.Error()), At: change.At()}
	b.LastError = b.Hold.Message
	kind := events.BatchHeld
	if code == events.HoldNeedsAttention {
		kind = events.BatchNeedsAttention
	}
	change.Batch(b, kind)
	s.logger(b).Error().Str("hold", code).Err(cause).Msg("batch is held")
	return s.cfg.Jobs.Commit(ctx, change)
}

// resume takes back a hold of this service whose cause is gone.
func (s *Service) resume(ctx context.Context, b *jobs.Batch) error {
	if !isHeld(b, events.HoldKeyMissing) && !isHeld(b, events.HoldManifestMissing) {
		return nil
	}
	change := jobs.NewChange(time.Now())
	b.Hold, b.LastError = nil, ""
	change.Batch(b, events.BatchResumed)
	return s.cfg.Jobs.Commit(ctx, change)
}

// tell writes what b waits for into its state, when that is news.
func (s *Service) tell(ctx context.Context, b *jobs.Batch, why string, until *time.Time, cause error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("note what %s waits for: %w", b.StateKey(), ctx.Err())
	}
	last := ""
	if cause != nil {
		last = cut(cause.Error())
	}
	if b.Why == why && b.LastError == last && sameTime(b.NextTryAt, until) {
		return nil
	}
	change := jobs.NewChange(time.Now())
	b.Why, b.NextTryAt, b.LastError = why, until, last
	change.Batch(b)
	return s.cfg.Jobs.Commit(ctx, change)
}

// deadline is when the wait that b's state tells of is over; false when it tells of none of ours.
func deadline(b *jobs.Batch, reasons ...string) (until time.Time, begun bool) {
	for _, why := range reasons {
		if b.Why == why && b.NextTryAt != nil {
			return *b.NextTryAt, true
		}
	}
	return time.Time{}, false
}

func (s *Service) logger(b *jobs.Batch) *zerolog.Logger {
	log := s.cfg.Log.With().Str("queue", b.Queue).Str("job", b.Job).Str("batch", b.N).Logger()
	return &log
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// cut keeps the first KiB of a text, in whole characters.
func cut(text string) string { return cutAt(text, maxLastError) }

func cutAt(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

var errNoKey = errors.New("no API key of this name is configured")
