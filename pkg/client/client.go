package client

import (
	"time"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Client publishes and reads. It is safe for concurrent use.
type Client struct {
	bus         *jetstore.Store
	fullTimeout time.Duration // 0: a full bus is waited for until ctx ends
}

// New returns a client on bus.
func New(bus *jetstore.Store) *Client { return &Client{bus: bus} }

// WithFullTimeout returns the same client, whose [Client.Publish], [Client.Seal] and [Client.Cancel] give up with a [*FullError] when the bus
// has refused everything for so long for want of room. 0: they wait until ctx ends.
func (c *Client) WithFullTimeout(timeout time.Duration) *Client {
	return &Client{bus: c.bus, fullTimeout: timeout}
}
