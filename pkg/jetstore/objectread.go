package jetstore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"

	"github.com/nats-io/nats.go/jetstream"
)

// OpenObject reads an object. It streams, page by page as [Store.Read] does; close the reader, also before the end.
// [ErrObjectMissing] when there is none by the leader's word, and [ErrDigest] at the end of the reader when the bytes are not
// those of o.Digest: what was read until then is not to be trusted. Reading ends with ctx. The reader is not safe for
// concurrent use.
func (s *Store) OpenObject(ctx context.Context, o Object) (io.ReadCloser, error) {
	m, err := s.Last(ctx, StreamObjects, metaSubject(o.Name))
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("open object %s: %w", o.Name, ErrObjectMissing)
	}
	if err != nil {
		return nil, fmt.Errorf("open object %s: %w", o.Name, err)
	}
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(m.Data, &info); err != nil {
		return nil, fmt.Errorf("open object %s: decode description: %w", o.Name, err)
	}
	if info.Deleted {
		return nil, fmt.Errorf("open object %s: %w", o.Name, ErrObjectMissing)
	}
	next, stop := iter.Pull2(s.Read(ctx, StreamObjects, chunkSubject(info.NUID), 1))
	return &objectReader{object: o, next: next, stop: stop, hash: sha256.New()}, nil
}

// objectReader joins the chunks and checks them against the digest that the message names, whatever the object's own
// description says: a chunk that is missing or twice there shows in it.
type objectReader struct {
	object Object
	next   func() (Message, error, bool)
	stop   func()
	hash   hash.Hash
	chunk  []byte // what is left of the current one
}

// Read reads, and at the end compares.
func (r *objectReader) Read(p []byte) (int, error) {
	for len(r.chunk) == 0 {
		m, err, ok := r.next()
		if err != nil {
			return 0, fmt.Errorf("read object %s: %w", r.object.Name, err)
		}
		if !ok {
			return 0, r.end()
		}
		r.hash.Write(m.Data)
		r.chunk = m.Data
	}
	n := copy(p, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}

func (r *objectReader) end() error {
	if "SHA-256="+base64.URLEncoding.EncodeToString(r.hash.Sum(nil)) != r.object.Digest {
		return fmt.Errorf("read object %s: %w", r.object.Name, ErrDigest)
	}
	return io.EOF
}

// Close ends the reading. It is idempotent and never fails.
func (r *objectReader) Close() error {
	r.stop()
	return nil
}
