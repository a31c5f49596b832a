package chaos_test

import (
	"net"
	"sync"
	"testing"

	"github.com/batchbus/batchbus/test/rig"
)

// gate is a TCP way to one address. While it is shut, bytes of both directions wait in it, as behind a switch that fails: nothing is
// refused, nothing is reset, and whoever has sent something does not learn that it did not arrive.
type gate struct {
	address, target string
	listener        net.Listener
	running         sync.WaitGroup

	mu    sync.Mutex
	open  chan struct{} // closed while the gate is open
	ended bool
	conns map[net.Conn]struct{}
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", rig.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{address: listener.Addr().String(), target: target, listener: listener, open: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	close(g.open)
	g.running.Go(g.accept)
	t.Cleanup(g.end)
	return g
}

// shut holds what comes from now on, until reopen.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
}

// passage is closed when the gate is open.
func (g *gate) passage() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

func (g *gate) end() {
	g.mu.Lock()
	g.ended = true
	select {
	case <-g.open:
	default:
		close(g.open)
	}
	for conn := range g.conns {
		_ = conn.Close() // it is over
	}
	g.mu.Unlock()
	_ = g.listener.Close() // as above
	g.running.Wait()
}

func (g *gate) accept() {
	for {
		client, err := g.listener.Accept()
		if err != nil {
			return // the end
		}
		g.running.Go(func() { g.join(client) })
	}
}

// join copies both ways until either side ends. A server that is not there ends the client.
func (g *gate) join(client net.Conn) {
	<-g.passage()
	server, err := net.Dial("tcp", g.target)
	if err != nil {
		_ = client.Close() // nobody is there
		return
	}
	if !g.keep(client, server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { g.pump(server, client) })
	both.Go(func() { g.pump(client, server) })
	both.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, client)
	delete(g.conns, server)
}

func (g *gate) keep(conns ...net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range conns {
		g.conns[conn] = struct{}{}
		if g.ended {
			_ = conn.Close() // too late
		}
	}
	return !g.ended
}

// pump passes on one direction. An end of one side is passed on too, when the gate is open.
func (g *gate) pump(to, from net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		<-g.passage()
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				err = failed
			}
		}
		if err != nil {
			_, _ = to.Close(), from.Close() // whatever it was, the connection is over
			return
		}
	}
}
