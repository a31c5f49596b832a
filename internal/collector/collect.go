package collector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// maxRaces is how often a lost race is run again at once before the hint is given back for a while.
const maxRaces = 5

// collect takes a batch as far as it will go now, and returns how long to wait before it is worth another look; 0 when there is nothing
// to wait for. It is idempotent: whatever it was cut off from, it goes on from what is stored.
func (s *Service) collect(ctx context.Context, t turn, id batchID) (time.Duration, error) {
	for range maxRaces {
		wait, err := s.collectOnce(ctx, t, id)
		if !jobs.IsConflict(err) && !errors.Is(err, jetstore.ErrOtherServer) {
			return wait, err
		}
	}
	return s.cfg.RetryInterval, nil
}

func (s *Service) collectOnce(ctx context.Context, t turn, id batchID) (time.Duration, error) {
	ctx = s.cfg.Bus.Anchor(ctx) // the results that this run stores, and the bits that say so, must be on one and the same bus
	b, err := s.cfg.Jobs.Batch(ctx, id.queue, id.job, id.n)
	switch {
	case errors.Is(err, jetstore.ErrNotFound):
		return 0, nil // an event of a bus that was restored, or of a tombstone that is over
	case err != nil:
		return 0, err
	case b.State.Ended():
		_, err = s.cfg.Jobs.Complete(ctx, b.Queue, b.Job)
		return 0, err
	case b.State != events.BatchSubmitted && b.State != events.BatchFinished || heldForPerson(&b):
		return 0, nil
	}
	provider, known := s.cfg.Provider(b.Key)
	if !known {
		return 0, s.hold(ctx, &b, events.HoldKeyMissing, errNoKey)
	}
	entries, wait, err := s.manifest(ctx, &b)
	if entries == nil {
		return wait, err
	}
	r, err := s.newRun(ctx, &b, waiting{Provider: provider, turn: t}, entries)
	if err != nil {
		return 0, err
	}
	wait, err = r.collect(ctx)
	return wait, errors.Join(r.conclude(ctx, err), r.tellOrphans(ctx))
}

// manifest loads b's manifest. When there is none it says what to do about that: an object can be late on a lagging replica, but one with
// other bytes needs a person.
func (s *Service) manifest(ctx context.Context, b *jobs.Batch) ([]manifest.Entry, time.Duration, error) {
	entries, err := manifest.Load(ctx, s.cfg.Bus, b.Manifest)
	if err == nil && len(entries) != b.Rows {
		err = fmt.Errorf("manifest has %d rows, batch %d: %w", len(entries), b.Rows, manifest.ErrCorrupt)
	}
	switch {
	case err == nil:
		if b.Why == whyManifest {
			err = s.tell(ctx, b, "", nil, nil)
		}
		return entries, 0, errors.Join(err, s.resume(ctx, b))
	case errors.Is(err, jetstore.ErrObjectMissing):
		until, begun := deadline(b, whyManifest)
		if !begun {
			until = time.Now().UTC().Add(s.cfg.OutageTimeout)
			return nil, s.cfg.RetryInterval, s.tell(ctx, b, whyManifest, &until, err)
		}
		if time.Now().Before(until) {
			return nil, s.cfg.RetryInterval, nil
		}
		return nil, 0, s.hold(ctx, b, events.HoldManifestMissing, err)
	case errors.Is(err, jetstore.ErrDigest), errors.Is(err, manifest.ErrCorrupt):
		return nil, 0, s.hold(ctx, b, events.HoldManifestMissing, err)
	default:
		return nil, 0, err
	}
}

func (r *run) collect(ctx context.Context) (time.Duration, error) {
	if r.ended() {
		return r.finish(ctx)
	}
	err := r.early(ctx)
	if err == nil && r.b.Why == whyOutage {
		err = r.s.tell(ctx, r.b, "", nil, nil)
	}
	return 0, err
}

// conclude makes of what ended a run what people see, and returns what is still to be retried.
func (r *run) conclude(ctx context.Context, err error) error {
	r.log.Debug().Int("open", r.left()).Int("again", len(r.again)).Int("provisional", r.provisional).Int("quarantined", r.quarantined).
		Int("orphans", len(r.orphans)).Err(err).Msg("batch was read")
	failed, isProvider := errors.AsType[*providerError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errRefused):
		// The rows beside the refused one are stored: the cursor moves over them, and the hold says the rest.
		return errors.Join(r.moveCursor(ctx), r.s.hold(ctx, r.b, events.HoldPublish, err))
	case errors.Is(err, manifest.ErrRowsGone), errors.Is(err, block.ErrCorrupt):
		return r.s.hold(ctx, r.b, events.HoldRowsOlder, err)
	case isProvider && ctx.Err() == nil:
		return errors.Join(failed, r.s.tell(ctx, r.b, whyOutage, nil, failed))
	default:
		return err
	}
}

// maxOrphans bounds how many ids that nobody sent are told of at once.
const maxOrphans = 16

// orphan notes a line with an id that nobody sent.
func (r *run) orphan(id string) {
	if len(r.orphans) < maxOrphans && !slices.Contains(r.orphans, id) {
		r.orphans = append(r.orphans, id)
	}
}

// tellOrphans publishes an event, one for each revision of the batch.
func (r *run) tellOrphans(ctx context.Context) error {
	if len(r.orphans) == 0 {
		return nil
	}
	var note strings.Builder
	note.WriteString("answers to ids that nobody sent:")
	for _, id := range r.orphans {
		note.WriteString(" " + strconv.Quote(cutAt(id, events.MaxNameBytes)))
	}
	change := jobs.NewChange(time.Now())
	change.BatchEvent(r.b, events.BatchOrphanResult, note.String())
	if err := r.s.cfg.Jobs.Commit(ctx, change); err != nil && !jobs.IsConflict(err) {
		return err
	}
	return nil
}
