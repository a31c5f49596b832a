package poller

import (
	"context"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

const (
	tickPrefix  = "batchbus.timers.due."
	tickOfKey   = "poll."
	pathKey     = "batchbus" // the key of a batch's path in the provider's metadata, see package submit
	listPage    = 100        // the most that one list call brings (the provider clamps at 101)
	clockMargin = time.Hour  // by how much the provider's clock may differ from ours
)

func tickName(key string) string { return tickOfKey + key }

// tick polls for the key that the tick's subject names. The error of one batch does not keep the others from being polled.
func (s *Service) tick(ctx context.Context, subject string) error {
	key, ok := strings.CutPrefix(subject, tickPrefix+tickOfKey)
	if !ok {
		return nil // another timer's tick, of a newer version perhaps
	}
	provider, ok := s.cfg.Provider(key)
	if !ok {
		return nil // a key that is gone: its batches are held by the sweep
	}
	due, err := s.due(ctx, key, time.Now())
	if err != nil || len(due) == 0 {
		return err
	}
	p := &poll{service: s, provider: provider, due: due}
	return p.run(ctx)
}

// due reads the submitted batches of the key whose time has come, by provider batch id.
func (s *Service) due(ctx context.Context, key string, now time.Time) (map[string]*jobs.Batch, error) {
	due := make(map[string]*jobs.Batch)
	for b, err := range s.cfg.Jobs.AllBatches(ctx) {
		if err != nil {
			return nil, err
		}
		if b.State != events.BatchSubmitted || b.Key != key || b.NextPollAt != nil && b.NextPollAt.After(now) {
			continue
		}
		due[b.ProviderBatchID] = &b
	}
	return due, nil
}

// poll is one round of questions for one key. due shrinks as answers come.
type poll struct {
	service  *Service
	provider Provider
	due      map[string]*jobs.Batch
}

func (p *poll) run(ctx context.Context) error {
	oldest := p.oldest()
	for remote, err := range p.provider.AllBatches(ctx, doubleword.BatchQuery{Limit: listPage}) {
		if err != nil {
			return p.outage(ctx, err)
		}
		if err := p.seen(ctx, remote); err != nil {
			return err
		}
		if len(p.due) == 0 || remote.CreatedAt.Before(oldest) && !remote.CreatedAt.IsZero() {
			break
		}
	}
	return p.rest(ctx)
}

// oldest is the time before which no due batch can have been created.
func (p *poll) oldest() time.Time {
	oldest := time.Now()
	for _, b := range p.due {
		at := b.SinceAt
		if b.SubmittedAt != nil {
			at = *b.SubmittedAt
		}
		if at.Before(oldest) {
			oldest = at
		}
	}
	return oldest.Add(-clockMargin)
}

// seen takes one batch of the list.
func (p *poll) seen(ctx context.Context, remote doubleword.Batch) error {
	b, ok := p.due[remote.ID]
	if !ok {
		return p.service.stranger(ctx, remote)
	}
	delete(p.due, remote.ID)
	return p.service.apply(ctx, b, func(now time.Time) []events.Kind {
		return Decide(&b.Batch, remote, now, p.service.pace)
	})
}

// outage notes for every due batch that the list failed. A GET for each would fail alike.
func (p *poll) outage(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.service.cfg.Log.Warn().Err(cause).Int("due", len(p.due)).Msg("batches not listed")
	for _, b := range p.due {
		if err := p.service.apply(ctx, b, func(now time.Time) []events.Kind {
			return DecideUnknown(&b.Batch, cause, now, p.service.pace)
		}); err != nil {
			return err
		}
	}
	return nil
}

// rest asks for each batch that the list did not show.
func (p *poll) rest(ctx context.Context) error {
	for id, b := range p.due {
		remote, err := p.provider.Batch(ctx, id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := p.service.apply(ctx, b, func(now time.Time) []events.Kind {
			if err != nil {
				return DecideUnknown(&b.Batch, err, now, p.service.pace)
			}
			return Decide(&b.Batch, remote, now, p.service.pace)
		}); err != nil {
			return err
		}
	}
	return nil
}

// apply commits a decision. Losing a race is no error: whoever won saw at least as much, and the next tick comes.
func (s *Service) apply(ctx context.Context, b *jobs.Batch, decide func(now time.Time) []events.Kind) error {
	change := jobs.NewChange(time.Now())
	kinds := decide(change.At())
	change.Batch(b, kinds...)
	err := s.cfg.Jobs.Commit(ctx, change)
	if jobs.IsConflict(err) {
		return nil
	}
	if err == nil && b.State == events.BatchFinished {
		s.cfg.Log.Info().Str("queue", b.Queue).Str("job", b.Job).Str("batch", b.N).Str("status", b.Status).
			Int("completed", b.Counts.Completed).Int("failed", b.Counts.Failed).Msg("batch finished")
	}
	return err
}
