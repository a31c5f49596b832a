package poller

import (
	"context"
	"errors"
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
	// sparePages is how many pages a tick follows beyond those that the known batches fill twice over: 10 000 batches of others that are newer
	// than the oldest due one, for which a provider that takes a fifth of a second a page needs 20 s. A list that goes on has no end for us.
	sparePages = 100
)

// listEndless is said of a batch that is asked for alone since its key's list has no end.
const listEndless = "; the provider's list of batches has no end, so it is asked for alone (list_endless)"

func tickName(key string) string { return tickOfKey + key }

// tick polls for the key that the tick's subject names.
func (s *Service) tick(ctx context.Context, subject string) error {
	key, ok := strings.CutPrefix(subject, tickPrefix+tickOfKey)
	if !ok {
		return nil // another timer's tick, of a newer version perhaps
	}
	provider, ok := s.cfg.Provider(key)
	if !ok {
		return nil // a key that is gone: its batches are held by the sweep
	}
	p := &poll{
		service: s, provider: provider, key: key,
		due: make(map[string]*jobs.Batch), later: make(map[string]*jobs.Batch), ours: make(map[string]bool),
	}
	now := time.Now()
	if err := p.load(ctx, now); err != nil {
		return err
	}
	if p.looksBack = !p.watchedFrom.IsZero() && s.lists.old(key, now); len(p.due) == 0 && !p.looksBack {
		return nil
	}
	s.lists.read(key, now)
	err := p.run(ctx)
	p.store(ctx)
	return errors.Join(append(p.faults, err)...)
}

// poll is one round of questions for one key.
type poll struct {
	service     *Service
	provider    Provider
	key         string
	due         map[string]*jobs.Batch // by provider batch id; shrinks as answers come
	later       map[string]*jobs.Batch // those of the key that are not due
	ours        map[string]bool        // the ids of all batches that are known and may be strange, see isStrange; true: it has ended here
	decided     []decided              // not stored yet
	watchedFrom time.Time              // when the oldest of those was made that have ended lately, see isWatched; zero: there are none
	looksBack   bool                   // the list is read as far as that
	endless     bool                   // the list has no end: each due batch is asked for alone
	faults      []error                // of single batches: they do not keep the others from being polled
}

// load reads the submitted batches, those of the key whose time has come among them.
func (p *poll) load(ctx context.Context, now time.Time) error {
	for b, err := range p.service.cfg.Jobs.AllBatches(ctx) {
		if err != nil {
			return err
		}
		if b.State == events.BatchSubmitted || b.SubmittedAt != nil && now.Sub(*b.SubmittedAt) < strangeFor+clockMargin {
			p.ours[b.ProviderBatchID] = b.State.Ended()
		}
		switch {
		case b.Key == p.key && isWatched(&b.Batch, now):
			if p.watchedFrom.IsZero() || b.SubmittedAt.Before(p.watchedFrom) {
				p.watchedFrom = *b.SubmittedAt
			}
		case b.State != events.BatchSubmitted || b.Key != p.key:
		case b.NextPollAt == nil || !b.NextPollAt.After(now):
			p.due[b.ProviderBatchID] = &b
		default:
			p.later[b.ProviderBatchID] = &b
		}
	}
	return nil
}

// run walks the list until it has shown all due batches, and asks for what it did not show one by one. What a page holds is looked at to its
// end: a stranger may stand behind the last due batch. A list that repeats itself, or has no end, is an answer, though not a whole one; the latter
// is left alone for a while.
func (p *poll) run(ctx context.Context) error {
	if cause := p.service.waits.of(p.key, time.Now()); cause != nil {
		return p.outage(ctx, cause)
	}
	if p.endless = p.service.lists.isEndless(p.key, time.Now(), p.service.cfg.Ceiling); p.endless {
		return p.rest(ctx)
	}
	oldest, shown := p.oldest(), 0
	for remote, err := range p.provider.AllBatches(ctx, doubleword.BatchQuery{Limit: listPage, MaxPages: p.mostPages()}) {
		if p.endless = errors.Is(err, doubleword.ErrEndless); p.endless {
			p.service.lists.hadNoEnd(p.key, time.Now())
			p.service.cfg.Log.Warn().Err(err).Str("key", p.key).Msg("list of batches has no end: due batches are asked for alone")
		}
		if p.endless || errors.Is(err, doubleword.ErrPageLoop) {
			break
		}
		if err != nil {
			return p.outage(ctx, err)
		}
		if p.seen(ctx, remote); ctx.Err() != nil {
			return ctx.Err()
		}
		shown++
		if over := len(p.due) == 0 && !p.looksBack || remote.CreatedAt.Before(oldest) && !remote.CreatedAt.IsZero(); over && shown%listPage == 0 {
			break
		}
	}
	return p.rest(ctx)
}

// mostPages is how many pages of the list are followed.
func (p *poll) mostPages() int {
	return sparePages + 2*(len(p.due)+len(p.later)+len(p.ours))/listPage
}

// explain adds to what b waits for why it is asked for alone.
func (p *poll) explain(b *events.Batch) {
	if p.endless && b.State == events.BatchSubmitted {
		b.Why += listEndless
	}
}

// oldest is the time before which no batch that is looked for can have been created.
func (p *poll) oldest() time.Time {
	oldest := time.Now()
	if p.looksBack {
		oldest = p.watchedFrom
	}
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
func (p *poll) seen(ctx context.Context, remote doubleword.Batch) {
	if b, ok := p.due[remote.ID]; ok {
		delete(p.due, remote.ID)
		p.apply(ctx, b, remote, nil)
		return
	}
	if b, ok := p.later[remote.ID]; ok {
		if early(&b.Batch, remote.Status, time.Now()) {
			delete(p.later, remote.ID)
			p.apply(ctx, b, remote, nil)
		}
		return
	}
	if ended, known := p.ours[remote.ID]; !known || ended && remote.Alive() {
		p.note(p.service.stranger(ctx, remote))
	}
}

// outage notes for every due batch that the list failed. A GET for each would fail alike. What the provider asks to wait is waited for by
// the whole key.
func (p *poll) outage(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.service.waits.add(p.key, cause, time.Now())
	p.service.cfg.Log.Warn().Err(cause).Int("due", len(p.due)).Msg("batches not listed")
	for _, b := range p.due {
		p.apply(ctx, b, doubleword.Batch{}, cause)
	}
	return ctx.Err()
}

// rest asks for each batch that the list did not show.
func (p *poll) rest(ctx context.Context) error {
	for id, b := range p.due {
		remote, err := p.provider.Batch(ctx, id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.apply(ctx, b, remote, err)
	}
	return nil
}
