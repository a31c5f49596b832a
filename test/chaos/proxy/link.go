package proxy

import (
	"bufio"
	"errors"
	"net"
	"sync"
)

// errCut ends a link whose budget of bytes is used up.
var errCut = errors.New("connection is cut")

// link is one client's connection through the proxy.
type link struct {
	bus            *Bus
	client, server net.Conn
	once           sync.Once

	mu     sync.Mutex
	budget int64               // bytes that still go through; negative: all
	lost   map[string]struct{} // inboxes whose next message is an acknowledgement to lose
}

// run hands on in both directions until either fails.
func (l *link) run() {
	var down sync.WaitGroup
	down.Go(func() {
		defer l.end()
		l.down()
	})
	l.up()
	l.end()
	down.Wait()
	if l.budget == 0 { // both directions have ended
		l.bus.tally.Add(ConnectionCut)
	}
}

// end cuts both sides.
func (l *link) end() {
	l.once.Do(func() {
		_ = l.client.Close() // an error says that it is closed already
		_ = l.server.Close()
	})
}

// up hands on what the client sends.
func (l *link) up() {
	for r := bufio.NewReader(l.client); ; {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		l.bus.stall()
		times, loseAck := l.bus.onPublish(&f)
		if loseAck {
			l.loseAck(f.reply)
		}
		for range times {
			if l.write(l.server, f.raw) != nil {
				return
			}
		}
	}
}

// again is a delivery that comes once more.
type again struct {
	raw    []byte
	frames int // so many frames later
}

// down hands on what the server sends.
func (l *link) down() {
	var doubles []again
	for r := bufio.NewReader(l.server); ; {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		l.bus.stall()
		if f.delivery() && l.lostAck(f.subject) {
			continue
		}
		pass, later := l.bus.onDelivery(&f)
		if pass && l.write(l.client, f.raw) != nil {
			return
		}
		if later >= 0 {
			doubles = append(doubles, again{f.raw, later})
		}
		if doubles, err = l.repeat(doubles); err != nil {
			return
		}
	}
}

// repeat sends the doubles that are due and returns the others, one frame nearer.
func (l *link) repeat(doubles []again) ([]again, error) {
	kept := doubles[:0]
	for _, d := range doubles {
		if d.frames > 0 {
			kept = append(kept, again{d.raw, d.frames - 1})
			continue
		}
		if err := l.write(l.client, d.raw); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// write sends bytes on, or only as many of them as go through before the cut.
func (l *link) write(to net.Conn, raw []byte) error {
	raw, cut := l.spend(raw)
	if _, err := to.Write(raw); err != nil {
		return err //nolint:wrapcheck // the caller only ends the connection
	}
	if cut {
		l.end()
		return errCut
	}
	return nil
}

// spend takes bytes from the budget and returns those that go through; cut tells that they are the last.
func (l *link) spend(raw []byte) (through []byte, cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.budget < 0 || !l.bus.stormy.Load() {
		return raw, false
	}
	if cut = l.budget <= int64(len(raw)); cut {
		raw = raw[:l.budget]
	}
	l.budget -= int64(len(raw))
	return raw, cut
}

func (l *link) loseAck(inbox string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost[inbox] = struct{}{}
}

// lostAck tells whether the message on this subject is to be lost, once.
func (l *link) lostAck(subject string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, lost := l.lost[subject]
	delete(l.lost, subject)
	return lost
}
