package jetstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// StoredObject is an object as a sweeper sees it.
type StoredObject struct {
	Object
	Stream  string    // of the message it was stored for
	Subject string    // of that message
	At      time.Time // when it was stored
}

// Objects yields every object, oldest first, page by page. Objects stored meanwhile may be yielded or not.
func (s *Store) Objects(ctx context.Context) iter.Seq2[StoredObject, error] {
	return func(yield func(StoredObject, error) bool) {
		for m, err := range s.Read(ctx, StreamObjects, "$O."+BucketObjects+".M.>", 1) {
			if err != nil {
				yield(StoredObject{}, err)
				return
			}
			var info jetstream.ObjectInfo
			if err := json.Unmarshal(m.Data, &info); err != nil || info.Deleted {
				continue // not ours to judge, or gone
			}
			if !yield(storedObject(info, m.At), nil) {
				return
			}
		}
	}
}

func storedObject(info jetstream.ObjectInfo, at time.Time) StoredObject {
	o := StoredObject{Object: Object{Name: info.Name, Digest: info.Digest, Size: int64(info.Size)}, At: at}
	if stream, rest, ok := strings.Cut(info.Name, "/"); ok {
		if i := strings.LastIndexByte(rest, '/'); i >= 0 {
			o.Stream, o.Subject = stream, rest[:i]
		}
	}
	return o
}

// DeleteObject deletes an object and every trace of its name. It is idempotent. After an error it may be deleted or not.
func (s *Store) DeleteObject(ctx context.Context, name string) error {
	defer s.on(VerbDelete, name)()
	bucket, err := s.js.ObjectStore(ctx, BucketObjects)
	if err != nil {
		return fmt.Errorf("delete object %s: %w", name, err)
	}
	if err := bucket.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("delete object %s: %w", name, err)
	}
	return s.Purge(ctx, StreamObjects, metaSubject(name), 0) // the marker that Delete leaves for ever
}
