package jetstore

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Entry is the current value of a key of the jobs bucket. Revision is what a [Change] expects to replace.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
	At       time.Time // when the stream stored it
}

// Get is the current value of a key. It asks the stream's leader, so that a loop of Get and Commit never spins on a replica
// that lags. [ErrNotFound] when there is none; a key that a person deleted with the nats tool counts as none, and then the
// entry's Revision is the one to expect.
func (s *Store) Get(ctx context.Context, key string) (Entry, error) {
	m, err := s.Last(ctx, StreamJobs, KeySubject(key))
	if err != nil {
		return Entry{Key: key}, fmt.Errorf("get %s: %w", key, err)
	}
	if deleted(m) {
		return Entry{Key: key, Revision: m.Sequence}, fmt.Errorf("get %s: %w", key, ErrNotFound)
	}
	return entryOf(m), nil
}

// Entries yields the current value of every key under a prefix that ends with a dot, such as "job." or
// "batch.default.nightly.", in the order of their last change, page by page: at most [pageBytes] are in memory.
//
// It is no snapshot. A key that existed all the while is yielded at least once; one that changes while the loop runs can be
// yielded again with its later value, and one that is made meanwhile may be yielded or not. With replicas a value may be
// as old as the lag of the one that answers: decide by [Store.Commit], not by what is read here.
func (s *Store) Entries(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return s.EntriesFrom(ctx, prefix, 1)
}

// EntriesFrom yields what [Store.Entries] does, but only those keys whose last change has the revision from or a later one: a list can be
// read in parts, each from behind the last revision of the one before.
func (s *Store) EntriesFrom(ctx context.Context, prefix string, from uint64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for m, err := range s.Read(ctx, StreamJobs, KeySubject(prefix)+">", from) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !deleted(m) && !yield(entryOf(m), nil) {
				return
			}
		}
	}
}

func entryOf(m Message) Entry {
	return Entry{Key: strings.TrimPrefix(m.Subject, keyPrefix), Value: m.Data, Revision: m.Sequence, At: m.At}
}

// headerOperation marks a deleted key.
const headerOperation = "KV-Operation"

// deleted knows the markers that the nats tool and nats.go leave for a deleted key.
func deleted(m Message) bool {
	return m.Header.Get(headerOperation) != "" || m.Header.Get(jetstream.MarkerReasonHeader) != ""
}
