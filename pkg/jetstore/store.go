package jetstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// requestTimeout bounds one try of one request. It is the server side of a leader election (1.6 to 7.8 s measured) and not
// of a call: calls repeat until their ctx ends.
const requestTimeout = 5 * time.Second

// asyncMaxPending lifts nats.go's own limit of publishes in flight out of the way: beyond it a publish fails after 200 ms.
// Windows count for themselves.
const asyncMaxPending = 1 << 20

// Store reads and writes batchbus' streams over one connection. It is safe for concurrent use and holds nothing that needs
// closing; it ends with its connection.
type Store struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	probe Probe // nil: nobody listens
	full  *fullness
}

// Open makes a store on a connection. It asks the server nothing, so it succeeds while the server is away, and it needs no
// administrator's rights: the topology is [Setup]'s.
func Open(nc *nats.Conn) (*Store, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(requestTimeout),
		jetstream.WithPublishAsyncTimeout(requestTimeout), jetstream.WithPublishAsyncMaxPending(asyncMaxPending))
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return &Store{nc: nc, js: js, full: &fullness{all: make(map[string]refusals)}}, nil
}

// JetStream is the context under the store, for what the store has no word for. Its asynchronous publishes are shared with
// every [Window].
func (s *Store) JetStream() jetstream.JetStream { return s.js }

// MaxPayload is the largest message in bytes, headers included, that the connected server takes. It is 0 before the first
// connect.
func (s *Store) MaxPayload() int { return int(s.nc.MaxPayload()) }

// BusID is the bus' own random name, 26 letters and digits. It is made by whoever asks first and never changes; it is part
// of every remote batch's path, so that two buses under one API key keep to their own. After an error it may or may not
// have been made: ask again.
func (s *Store) BusID(ctx context.Context) (string, error) {
	for {
		have, err := s.Get(ctx, "bus")
		if err == nil {
			return string(have.Value), nil
		}
		if !errors.Is(err, ErrNotFound) {
			return "", fmt.Errorf("read bus id: %w", err)
		}
		id := rand.Text()
		_, err = s.Commit(ctx, Change{Subject: KeySubject("bus"), Value: []byte(id), Expect: have.Revision})
		if err == nil {
			return id, nil
		}
		if !errors.Is(err, ErrConflict) {
			return "", fmt.Errorf("make bus id: %w", err)
		}
	}
}
