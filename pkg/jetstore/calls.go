package jetstore

import (
	"context"
	"fmt"
	"iter"
	"strings"
)

// callPrefix is what the subjects of the calls bucket begin with.
const callPrefix = "$KV." + BucketCalls + "."

// CallSubject is the subject of a key in the calls bucket, for a [Change]. What is stored there should have a TTL.
func CallSubject(key string) string { return callPrefix + key }

// Call is the newest value under a key of the calls bucket, by the leader's word; a "*" in the key stands for one token. Everything that
// [Store.Get] says of a key is true of it.
func (s *Store) Call(ctx context.Context, key string) (Entry, error) {
	m, err := s.Last(ctx, StreamCalls, CallSubject(key))
	if err != nil {
		return Entry{Key: key}, fmt.Errorf("get call: %w", err)
	}
	if deleted(m) {
		return Entry{Key: key, Revision: m.Sequence}, fmt.Errorf("get call: %w", ErrNotFound)
	}
	return callOf(m), nil
}

// Calls yields the values of all keys under a prefix that ends with a dot, in the order of their last change, under the reserves of
// [Store.Entries].
func (s *Store) Calls(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for m, err := range s.Read(ctx, StreamCalls, CallSubject(prefix)+">", 1) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !deleted(m) && !yield(callOf(m), nil) {
				return
			}
		}
	}
}

func callOf(m Message) Entry {
	return Entry{Key: strings.TrimPrefix(m.Subject, callPrefix), Value: m.Data, Revision: m.Sequence, At: m.At}
}
