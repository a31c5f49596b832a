package timewarp_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// slowBus is a way to the server on which everything that the server says arrives late.
type slowBus struct {
	server interface{ InProcessConn() (net.Conn, error) }
	delay  atomic.Int64 // nanoseconds
}

// InProcessConn dials.
func (b *slowBus) InProcessConn() (net.Conn, error) {
	conn, err := b.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	c := &slowConn{Conn: conn, bus: b, chunks: make(chan chunk, 1<<12), closed: make(chan struct{})}
	go c.pump()
	return c, nil
}

// chunk is what the server said, and when it arrives.
type chunk struct {
	data []byte
	at   time.Time
}

type slowConn struct {
	net.Conn
	bus    *slowBus
	chunks chan chunk
	rest   []byte // arrived and not read
	once   sync.Once
	closed chan struct{}
}

// pump takes what the server says as it is said: what is late is on its way together.
func (c *slowConn) pump() {
	defer close(c.chunks)
	for buffer := make([]byte, 32<<10); ; {
		n, err := c.Conn.Read(buffer)
		if err != nil {
			return
		}
		late := chunk{append([]byte(nil), buffer[:n]...), time.Now().Add(time.Duration(c.bus.delay.Load()))}
		select {
		case c.chunks <- late:
		case <-c.closed:
			return
		}
	}
}

// Read waits for what is on its way.
func (c *slowConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		next, ok := <-c.chunks
		if !ok {
			return 0, io.EOF
		}
		wait := time.NewTimer(time.Until(next.at))
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-c.closed:
			return 0, io.EOF
		}
		c.rest = next.data
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Close ends the reads too.
func (c *slowConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// Each acknowledgement, each message and each answer of the bus comes two and a half seconds late. It all takes longer, and that is all.
func TestABusThatAnswersAfterSecondsDoublesNothing(t *testing.T) {
	t.Parallel()
	const messages, each = 12, 5
	inWorld(t, simulator.Config{Latency: time.Minute}, 2, func(w *world) {
		pass(time.Minute) // all are connected, and have looked around
		w.bus.delay.Store(int64(2500 * time.Millisecond))
		for i := range messages {
			w.publish("slow", string(rune('a'+i)), each)
		}
		w.publish("slow", "z", 0, events.HeaderSeal, "true")
		w.passUntil(2*time.Hour, "slow")
		w.paidOnce("slow", messages*each)
		counts, err := w.Store.SubjectCounts(w.t.Context(), jetstore.StreamRows, events.RowsSubject(queue, "slow"))
		if err != nil {
			w.t.Fatal(err)
		}
		if blocks := counts[events.RowsSubject(queue, "slow")]; blocks > messages+1 {
			w.t.Errorf("%d blocks of %d messages and a seal: some were stored twice", blocks, messages)
		}
		for _, stream := range []string{jetstore.StreamRequests, jetstore.StreamDeadletters} {
			handle, err := w.Store.JetStream().Stream(w.t.Context(), stream)
			if err != nil {
				w.t.Fatal(err)
			}
			if n := handle.CachedInfo().State.Msgs; n != 0 {
				w.t.Errorf("%s holds %d messages in the end", stream, n)
			}
		}
		w.bus.delay.Store(0) // or the end would take its time too
	})
}
