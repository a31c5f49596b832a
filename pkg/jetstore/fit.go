package jetstore

import (
	"bytes"
	"context"
	"maps"

	"github.com/nats-io/nats.go"
)

// headerReserve is kept free for the headers that publishing and tracing add after Fit.
const headerReserve = 1 << 10

// Fit makes a message fit the server: when its headers and data exceed max_payload, the data is stored as an object, and the
// message returned has the envelope as data and the object's three headers besides its own. Otherwise it returns m
// unchanged. The stream is only for the object's name. After an error nothing refers to the object.
func (s *Store) Fit(ctx context.Context, stream string, m *nats.Msg, envelope []byte) (*nats.Msg, error) {
	limit := s.MaxPayload()
	if limit == 0 || headerSize(m.Header)+len(m.Data)+headerReserve <= limit {
		return m, nil // without a limit yet, before the first connect, the publish will say
	}
	object, err := s.PutObject(ctx, stream, m.Subject, bytes.NewReader(m.Data))
	if err != nil {
		return nil, err
	}
	out := &nats.Msg{Subject: m.Subject, Reply: m.Reply, Header: maps.Clone(m.Header), Data: envelope}
	if out.Header == nil {
		out.Header = nats.Header{}
	}
	object.SetHeader(out.Header)
	return out, nil
}

// headerSize is the length of headers on the wire: "NATS/1.0\r\n", then "name: value\r\n" each, then "\r\n".
func headerSize(h nats.Header) int {
	if len(h) == 0 {
		return 0
	}
	size := len("NATS/1.0\r\n\r\n")
	for name, values := range h {
		for _, value := range values {
			size += len(name) + len(value) + len(": \r\n")
		}
	}
	return size
}
