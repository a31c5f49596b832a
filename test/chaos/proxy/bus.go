package proxy

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const dialTimeout = 2 * time.Second

// Bus is a proxy before one NATS server. Clients dial [Bus.Address]. It is safe for concurrent use.
type Bus struct {
	target   string
	faults   BusFaults
	dice     Dice
	tally    *Tally
	listener net.Listener
	stormy   atomic.Bool
	done     chan struct{}
	running  sync.WaitGroup

	publishes, acks, deliveries, frames, connections atomic.Int64

	mu   sync.Mutex
	live map[*link]struct{} // nil when closed
}

// NewBus listens on a loopback address until Close and hands on to target, a host and port. ctx is for the call alone.
func NewBus(ctx context.Context, target string, faults BusFaults, dice Dice, tally *Tally) (*Bus, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	b := &Bus{
		target: target, faults: faults, dice: dice, tally: tally, listener: listener, done: make(chan struct{}),
		live: map[*link]struct{}{},
	}
	b.running.Go(b.accept)
	return b, nil
}

// Address is the host and port to dial.
func (b *Bus) Address() string { return b.listener.Addr().String() }

// Storm begins the faults; before it the weather is fair, and nothing is counted.
func (b *Bus) Storm() { b.stormy.Store(true) }

// Calm ends all faults.
func (b *Bus) Calm() { b.stormy.Store(false) }

// Cut ends all connections at once; clients may dial again.
func (b *Bus) Cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range b.live {
		l.end()
	}
}

// Close ends everything and waits for it.
func (b *Bus) Close() error {
	close(b.done)
	err := b.listener.Close()
	b.Cut()
	b.mu.Lock()
	b.live = nil
	b.mu.Unlock()
	b.running.Wait()
	if err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

func (b *Bus) accept() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return // closed
		}
		b.running.Go(func() { b.connect(client) })
	}
}

// connect joins a client to the server until either ends; without a server the client is sent away.
func (b *Bus) connect(client net.Conn) {
	server, err := net.DialTimeout("tcp", b.target, dialTimeout) //nolint:noctx // its time is bounded
	if err != nil {
		_ = client.Close() // there is nobody to tell
		return
	}
	l := &link{bus: b, client: client, server: server, lost: map[string]struct{}{}, budget: b.budget(b.connections.Add(1))}
	if !b.keep(l) {
		l.end()
		return
	}
	l.run()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.live, l)
}

// keep notes a link, unless the proxy is closed.
func (b *Bus) keep(l *link) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.live == nil {
		return false
	}
	b.live[l] = struct{}{}
	return true
}

// sleep waits, or returns early at Close.
func (b *Bus) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.done:
	}
}
