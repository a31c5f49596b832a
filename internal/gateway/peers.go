package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// askPrefix begins the subjects on which replicas ask each other whether a call's connection is open.
const askPrefix = "batchbus.gateway."

// askTimeout is how long a replica is asked.
const askTimeout = time.Second

// peers knows which calls' connections are open: its own by itself, those of other replicas by asking. It is safe for concurrent use.
type peers struct {
	name string // this life of this replica
	conn *nats.Conn

	mu   sync.Mutex
	held map[string]int // connections by call
}

func newPeers(conn *nats.Conn) *peers {
	return &peers{name: strings.ToLower(rand.Text()), conn: conn, held: make(map[string]int)}
}

// answer answers the others until stop is called.
func (p *peers) answer() (stop func(), err error) {
	subscription, err := p.conn.Subscribe(askPrefix+p.name, func(m *nats.Msg) {
		answer := "gone"
		if p.holds(string(m.Data)) {
			answer = "open"
		}
		_ = m.Respond([]byte(answer)) // whoever hears nothing takes the connection for open
	})
	if err != nil {
		return nil, fmt.Errorf("answer other replicas: %w", err)
	}
	return func() { _ = subscription.Unsubscribe() }, nil // fails with the connection only
}

func (p *peers) enter(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[id]++
}

func (p *peers) leave(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[id]--; p.held[id] <= 0 {
		delete(p.held, id)
	}
}

func (p *peers) holds(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[id] > 0
}

// open tells whether the connection of a call that was not answered is there. A replica that nobody listens for is gone, and its connections with
// it; one that does not answer in time may be alive.
func (p *peers) open(ctx context.Context, c *call) bool {
	if c.Gateway == p.name {
		return p.holds(c.id)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := p.conn.RequestWithContext(ctx, askPrefix+c.Gateway, []byte(c.id))
	if err != nil {
		return !errors.Is(err, nats.ErrNoResponders)
	}
	return string(answer.Data) == "open"
}
