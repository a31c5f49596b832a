package keep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// sweepObjects deletes objects that are old enough and that nobody names.
func (k *Keeper) sweepObjects(ctx context.Context) error {
	seen := make(map[string]uint64)
	for o, err := range k.Bus.Objects(ctx) {
		if err != nil {
			return fmt.Errorf("sweep objects: %w", err)
		}
		k.Beat()
		if time.Since(o.At) < k.ObjectAge {
			break // they come oldest first
		}
		by, named, err := k.namedBy(ctx, &o)
		if err != nil {
			return fmt.Errorf("look who names object %s: %w", o.Name, err)
		}
		if named {
			seen[o.Name] = by
			continue
		}
		if err := k.Bus.DeleteObject(ctx, o.Name); err != nil {
			return fmt.Errorf("sweep objects: %w", err)
		}
		k.Log.Info().Str("object", o.Name).Msg("an object that nobody names is deleted")
	}
	k.named = seen
	return nil
}

// sweepRemnants deletes what processes have left that died while they stored or deleted an object.
func (k *Keeper) sweepRemnants(ctx context.Context) error {
	deleted, err := k.Bus.SweepRemnants(ctx, k.ObjectAge)
	if deleted > 0 {
		k.Log.Info().Int("remnants", deleted).Msg("what interrupted stores and deletes of objects have left is deleted")
	}
	return err
}

// namedBy returns the message that names o, by the word of its stream's leader. An object that batchbus did not name itself counts as named:
// a person's is a person's to delete.
func (k *Keeper) namedBy(ctx context.Context, o *jetstore.StoredObject) (sequence uint64, named bool, err error) {
	var m jetstore.Message
	switch o.Stream {
	case jetstore.StreamJobs:
		named, err = k.isManifest(ctx, o)
		return 0, named, err
	case jetstore.StreamResults, jetstore.StreamDeadletters: // one message a subject
		m, err = k.Bus.Last(ctx, o.Stream, o.Subject)
	case jetstore.StreamRows, jetstore.StreamRequests:
		m, err = k.search(ctx, o)
	default:
		return 0, true, nil
	}
	if errors.Is(err, jetstore.ErrNotFound) {
		return 0, false, nil
	}
	return m.Sequence, err == nil && names(&m, o), err
}

func names(m *jetstore.Message, o *jetstore.StoredObject) bool {
	named, ok := jetstore.ObjectOf(m.Header)
	return ok && named.Name == o.Name && m.Subject == o.Subject
}

// isManifest tells whether the batch that o was stored for names it.
func (k *Keeper) isManifest(ctx context.Context, o *jetstore.StoredObject) (bool, error) {
	m, err := k.Bus.Last(ctx, jetstore.StreamJobs, o.Subject)
	if errors.Is(err, jetstore.ErrNotFound) {
		return false, nil
	}
	if err != nil || len(m.Data) == 0 { // a person deleted the key
		return false, err
	}
	b, err := events.ParseBatch(m.Data)
	return b.Manifest.Name == o.Name, err
}

// search looks through the messages on a subject that has many. One that was found to name o is looked at first.
func (k *Keeper) search(ctx context.Context, o *jetstore.StoredObject) (jetstore.Message, error) {
	if sequence, known := k.named[o.Name]; known {
		m, err := k.Bus.At(ctx, o.Stream, sequence)
		if err == nil && names(&m, o) || err != nil && !errors.Is(err, jetstore.ErrNotFound) {
			return m, err
		}
	}
	for next := uint64(1); ; {
		m, err := k.Bus.Next(ctx, o.Stream, o.Subject, next)
		if err != nil || names(&m, o) {
			return m, err
		}
		k.Beat()
		next = m.Sequence + 1
	}
}

// deleteObjects deletes every object that was stored for a message or a batch of the job, and returns how many there were.
func deleteObjects(ctx context.Context, bus *jetstore.Store, queue, job string) (deleted int, err error) {
	for o, err := range bus.Objects(ctx) {
		if err == nil && belongsTo(&o, queue, job) {
			deleted++
			err = bus.DeleteObject(ctx, o.Name)
		}
		if err != nil {
			return deleted, fmt.Errorf("delete objects of %s/%s: %w", queue, job, err)
		}
	}
	return deleted, nil
}

// belongsTo tells whether o was stored for the job. What was published to a rolling job stands on its queue's subject, where nobody can
// tell whose it is; it is swept after a day.
func belongsTo(o *jetstore.StoredObject, queue, job string) bool {
	switch o.Stream {
	case jetstore.StreamRequests:
		return o.Subject == events.RequestSubject(queue, job)
	case jetstore.StreamRows:
		return o.Subject == events.RowsSubject(queue, job)
	case jetstore.StreamResults:
		return strings.HasPrefix(o.Subject, strings.TrimSuffix(events.ResultsFilter(queue, job), ">"))
	case jetstore.StreamDeadletters:
		return strings.HasPrefix(o.Subject, strings.TrimSuffix(events.DeadlettersFilter(queue, job), ">"))
	case jetstore.StreamJobs:
		return strings.HasPrefix(o.Subject, jetstore.KeySubject(events.BatchPrefix(queue, job)))
	default:
		return false
	}
}
