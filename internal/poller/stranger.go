package poller

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// strangeFor is for how long a batch that has ended is still told of: its list shows it for weeks, and the state that named it is not kept for
// ever.
const strangeFor = 24 * time.Hour

// stranger looks at a batch in the list that nobody follows here. If its metadata names a path of this bus, the path's state must name it: a
// second one that runs, or has answers that cost money, is a twin, one without a state an orphan. One that has ended here and runs again,
// since somebody had the provider retry it, needs attention: what it runs is paid for beyond what we know. Each is told once, since the
// event's subject is taken then.
func (s *Service) stranger(ctx context.Context, remote doubleword.Batch) error {
	queue, job, n, ok := parsePath(remote.Metadata[pathKey], s.cfg.BusID)
	if !ok || !isStrange(&remote, time.Now()) {
		return nil
	}
	b, err := s.cfg.Jobs.Batch(ctx, queue, job, n)
	kind, note := events.BatchTwin, "provider batch "+remote.ID
	switch {
	case errors.Is(err, jetstore.ErrNotFound):
		kind = events.BatchOrphan
		b = jobs.Batch{Batch: events.Batch{Queue: queue, Job: job, N: n}}
	case err != nil:
		return err
	case b.ProviderBatchID == remote.ID && b.State.Ended() && remote.Alive():
		kind = events.BatchNeedsAttention
		note += " is " + string(b.State) + " here, and the provider runs it again: rows that it answers anew are paid, and change no result"
	case b.ProviderBatchID == remote.ID:
		return nil // ours, and not due
	case b.ProviderBatchID == "" && !b.State.Ended():
		return nil // the submitter is about to adopt it
	case slices.Contains(b.Abandoned, remote.ID) && !remote.Alive():
		return nil // a person gave it up
	}
	b.Revision = numberOf(remote.ID)
	change := jobs.NewChange(time.Now())
	change.BatchEvent(&b, kind, note)
	err = s.cfg.Jobs.Commit(ctx, change)
	if err == nil {
		s.cfg.Log.Error().Str("queue", queue).Str("job", job).Str("batch", n).Str("provider_batch_id", remote.ID).
			Str("kind", string(kind)).Msg("the provider has a batch that nobody follows here")
	}
	if jobs.IsConflict(err) {
		return nil
	}
	return err
}

// isStrange reports whether somebody has to know of a batch that no state names: it runs, or it has had answers lately.
func isStrange(remote *doubleword.Batch, now time.Time) bool {
	return remote.Alive() || remote.Adoptable() && now.Sub(remote.CreatedAt) < strangeFor
}

// numberOf stands for the replaced revision in the id of an event that replaces none: the same however often one remote batch is met, and
// another for the next one on the same path.
func numberOf(id string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(id)) // a hash never fails
	return sum.Sum64()
}

// parsePath splits "<bus id>/<queue>/<job>/<n>/".
func parsePath(path, busID string) (queue, job, n string, ok bool) {
	rest, ours := strings.CutPrefix(path, busID+"/")
	parts := strings.Split(rest, "/")
	if !ours || len(parts) != 4 || parts[3] != "" || !events.IsToken(parts[0]) || !events.IsToken(parts[1]) || !events.IsToken(parts[2]) {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}
