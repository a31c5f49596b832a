package app

import (
	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Bus is a connection of one's own to the bus, beside the services'.
type Bus struct {
	Jobs   *jobs.Store
	Client *client.Client
	Store  *jetstore.Store // to be read from; only dead letters are purged by it
	conn   *nats.Conn
}

// Close closes the connection.
func (b *Bus) Close() { b.conn.Close() }

// OpenBus dials under the given client name; dial is that of a [Local] or of [ConnectionFlags].
func OpenBus(name string, dial func(name string) (*nats.Conn, error)) (*Bus, error) {
	conn, err := dial(name)
	if err != nil {
		return nil, err
	}
	store, err := jetstore.Open(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &Bus{Jobs: jobs.New(store), Client: client.New(store), Store: store, conn: conn}, nil
}

// Connect opens a connection under the given client name.
func (l *Local) Connect(name string) (*Bus, error) { return OpenBus(name, l.dial) }
