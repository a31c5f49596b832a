package jetstore

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/nats-io/nats.go"
)

// queuePrefix is what the subjects of the queues bucket begin with; its keys are the names of queues.
const queuePrefix = "$KV." + BucketQueues + "."

// QueueSubject is the subject of a queue's record in the queues bucket, for a [Change].
func QueueSubject(queue string) string { return queuePrefix + queue }

// QueueDeletion is the change after which a queue has no record. A marker stays in its place, as the nats tool leaves one.
func QueueDeletion(queue string, expect uint64) Change {
	return Change{Subject: QueueSubject(queue), Expect: expect, Header: nats.Header{headerOperation: {"DEL"}}}
}

// Queue is the record of a queue, by the leader's word; everything that [Store.Get] says of a key is true of it.
func (s *Store) Queue(ctx context.Context, queue string) (Entry, error) {
	m, err := s.Last(ctx, StreamQueues, QueueSubject(queue))
	if err != nil {
		return Entry{Key: queue}, fmt.Errorf("get queue %s: %w", queue, err)
	}
	if deleted(m) {
		return Entry{Key: queue, Revision: m.Sequence}, fmt.Errorf("get queue %s: %w", queue, ErrNotFound)
	}
	return queueOf(m), nil
}

// QueuesFrom yields the records of all queues whose last change has the revision from or a later one, under the reserves of [Store.Entries].
func (s *Store) QueuesFrom(ctx context.Context, from uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for m, err := range s.Read(ctx, StreamQueues, queuePrefix+">", from) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !deleted(m) && !yield(queueOf(m), nil) {
				return
			}
		}
	}
}

func queueOf(m Message) Entry {
	return Entry{Key: strings.TrimPrefix(m.Subject, queuePrefix), Value: m.Data, Revision: m.Sequence, At: m.At}
}
