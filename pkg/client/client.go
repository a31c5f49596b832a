package client

import "github.com/batchbus/batchbus/pkg/jetstore"

// Client publishes and reads. It is safe for concurrent use.
type Client struct{ bus *jetstore.Store }

// New returns a client on bus.
func New(bus *jetstore.Store) *Client { return &Client{bus: bus} }
