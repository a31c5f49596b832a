package jetstoretest

import (
	"net"
	"sync"

	"github.com/nats-io/nats.go"
)

// Link is an in-process way to a server on which replies can be lost, to be dialled as nats.InProcessServer(link) or by
// [Link.Option]. It is safe for concurrent use.
type Link struct {
	dial interface{ InProcessConn() (net.Conn, error) }

	mu     sync.Mutex
	budget int // bytes that still come through from the server; negative: all
	live   []*lossy
}

// NewLink makes a link on which nothing is lost yet.
func (f *Fixture) NewLink() *Link { return &Link{dial: f.Server, budget: -1} }

// Option makes nats.Connect use the link.
func (l *Link) Option() nats.Option { return nats.InProcessServer(l) }

// InProcessConn dials.
func (l *Link) InProcessConn() (net.Conn, error) {
	conn, err := l.dial.InProcessConn()
	if err != nil {
		return nil, err
	}
	c := &lossy{Conn: conn, link: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live = append(l.live, c)
	return c, nil
}

// LoseAfter lets so many more bytes come from the server and loses everything behind them, while what the client sends
// still arrives. In a bubble the connection must be up when it is called (flush it before): nats.go waits for a handshake
// with a lock held, and fake time stands still meanwhile.
func (l *Link) LoseAfter(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.budget = bytes
}

// Heal lets everything through again, on new connections: those that may have lost something are cut.
func (l *Link) Heal() {
	l.mu.Lock()
	cut := l.live
	l.live, l.budget = nil, -1
	l.mu.Unlock()
	for _, c := range cut {
		_ = c.Close() // an error says that it was closed already
	}
}

// allow takes n bytes from the budget and returns how many of them come through.
func (l *Link) allow(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.budget < 0 {
		return n
	}
	n = min(n, l.budget)
	l.budget -= n
	return n
}

type lossy struct {
	net.Conn
	link *Link
}

// Read passes on what the budget allows, and swallows the rest.
func (c *lossy) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if through := c.link.allow(n); through > 0 || err != nil || n == 0 {
			return through, err //nolint:wrapcheck // it is a net.Conn: its callers compare with io.EOF
		}
	}
}
