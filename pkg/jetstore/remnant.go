package jetstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// SweepRemnants deletes what is left of an object when a process dies while it stores or deletes one: chunks that no description names, and
// descriptions of deleted objects. Only what is older than age goes, which must be longer than storing an object takes. It returns how many
// remnants it deleted, and is idempotent; after an error some may be deleted. It holds a subject for each object in memory.
func (s *Store) SweepRemnants(ctx context.Context, age time.Duration) (deleted int, err error) {
	chunks, err := s.SubjectCounts(ctx, StreamObjects, chunkSubject(">"))
	if err != nil {
		return 0, fmt.Errorf("sweep remnants: %w", err)
	}
	markers, err := s.nameChunks(ctx, chunks, age)
	if err != nil {
		return 0, fmt.Errorf("sweep remnants: %w", err)
	}
	for subject := range chunks {
		old, err := s.olderThan(ctx, subject, age)
		if err != nil {
			return deleted, fmt.Errorf("sweep remnants: %w", err)
		}
		if old {
			markers = append(markers, subject)
		}
	}
	for _, subject := range markers {
		if err := s.Purge(ctx, StreamObjects, subject, 0); err != nil {
			return deleted, fmt.Errorf("sweep remnants: %w", err)
		}
		deleted++
	}
	return deleted, nil
}

// nameChunks takes the chunks of every object that exists out of chunks, and returns the descriptions of old deleted ones. An object whose
// description comes later than this has young chunks.
func (s *Store) nameChunks(ctx context.Context, chunks map[string]uint64, age time.Duration) (markers []string, err error) {
	for m, err := range s.Read(ctx, StreamObjects, "$O."+BucketObjects+".M.>", 1) {
		if err != nil {
			return nil, err
		}
		var info jetstream.ObjectInfo
		if err := json.Unmarshal(m.Data, &info); err != nil {
			return nil, fmt.Errorf("read description of an object: %w", err) // its chunks must not go
		}
		if !info.Deleted {
			delete(chunks, chunkSubject(info.NUID))
		} else if time.Since(m.At) > age && strings.Contains(info.Name, "/") { // ours, not a person's
			markers = append(markers, m.Subject)
		}
	}
	return markers, nil
}

// olderThan tells whether the newest message of a subject is.
func (s *Store) olderThan(ctx context.Context, subject string, age time.Duration) (bool, error) {
	last, err := s.Last(ctx, StreamObjects, subject)
	if errors.Is(err, ErrNotFound) {
		return false, nil // just deleted with its object
	}
	return err == nil && time.Since(last.At) > age, err
}
