package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/test/chaos/proxy"
)

const ackWait = 300 * time.Millisecond

// world is a server with one stream and consumer, a client behind the proxy and one beside it.
type world struct {
	bus            *proxy.Bus
	tally          *proxy.Tally
	behind, beside jetstream.JetStream
	conn           *nats.Conn
}

func start(t *testing.T, faults proxy.BusFaults) *world {
	t.Helper()
	nats1, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	nats1.Start()
	t.Cleanup(func() { nats1.Shutdown(); nats1.WaitForShutdown() })
	if !nats1.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	w := &world{tally: &proxy.Tally{}}
	target := net.JoinHostPort("127.0.0.1", strconv.Itoa(nats1.Addr().(*net.TCPAddr).Port))
	w.bus, err = proxy.NewBus(t.Context(), target, faults, proxy.NewDice(1, t.Name()), w.tally)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.bus.Close(); err != nil {
			t.Error(err)
		}
	})
	_, w.beside = connect(t, target)
	stream := jetstream.StreamConfig{Name: "S", Subjects: []string{"batchbus.rows.>"}}
	if _, err := w.beside.CreateStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	consumer := jetstream.ConsumerConfig{Durable: "ingest", AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait}
	if _, err := w.beside.CreateConsumer(t.Context(), "S", consumer); err != nil {
		t.Fatal(err)
	}
	w.conn, w.behind = connect(t, w.bus.Address())
	w.bus.Storm()
	return w
}

func connect(t *testing.T, address string) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	conn, err := nats.Connect("nats://"+address, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return conn, js
}

// publish publishes through the proxy.
func (w *world) publish(t *testing.T, patience time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := w.behind.Publish(ctx, "batchbus.rows.q.j", []byte("hello"))
	return err
}

// stored is how many messages the server has.
func (w *world) stored(t *testing.T) uint64 {
	t.Helper()
	s, err := w.beside.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

// next are the numbers of times that deliveries through the proxy were delivered, until none comes for the given time.
func (w *world) next(t *testing.T, wait time.Duration) (delivered []uint64) {
	t.Helper()
	c, err := w.behind.Consumer(t.Context(), "S", "ingest")
	if err != nil {
		t.Fatal(err)
	}
	batch, err := c.Fetch(10, jetstream.FetchMaxWait(wait))
	if err != nil {
		t.Fatal(err)
	}
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		delivered = append(delivered, meta.NumDelivered)
		_ = m.Ack()
	}
	return delivered
}

func (w *world) want(t *testing.T, kind string) {
	t.Helper()
	if counts := w.tally.Counts(); counts[kind] == 0 {
		t.Errorf("counted %v, want %s", counts, kind)
	}
}

func TestALostAckIsOfAStoredMessage(t *testing.T) {
	t.Parallel()
	w := start(t, proxy.BusFaults{LoseAck: 1})
	if err := w.publish(t, 200*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the publish says %v", err)
	}
	if n := w.stored(t); n != 1 {
		t.Errorf("%d messages are stored", n)
	}
	w.want(t, proxy.AckLost)
	w.bus.Calm()
	if err := w.publish(t, 5*time.Second); err != nil {
		t.Errorf("in fair weather: %v", err)
	}
}

func TestADoubledPublishIsStoredTwice(t *testing.T) {
	t.Parallel()
	w := start(t, proxy.BusFaults{DoublePublish: 1})
	if err := w.publish(t, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := w.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := w.stored(t); n != 2 {
		t.Errorf("%d messages are stored", n)
	}
	w.want(t, proxy.PublishDoubled)
}

func TestADoubledDeliveryIsTheSameOneTwice(t *testing.T) {
	t.Parallel()
	w := start(t, proxy.BusFaults{DoubleDelivery: 1})
	if err := w.publish(t, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go w.chatter(done)
	if got := w.next(t, time.Second); fmt.Sprint(got) != "[1 1]" {
		t.Errorf("deliveries %v", got)
	}
	w.want(t, proxy.DeliveryDoubled)
}

// chatter brings frames from the server, behind which doubles come.
func (w *world) chatter(done chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
			_ = w.conn.Flush() // ends with the connection
		}
	}
}

func TestALostDeliveryComesAgainAfterTheAckWait(t *testing.T) {
	t.Parallel()
	w := start(t, proxy.BusFaults{LoseDelivery: 1})
	if err := w.publish(t, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := w.next(t, ackWait/2); len(got) != 0 {
		t.Errorf("deliveries %v", got)
	}
	w.want(t, proxy.DeliveryLost)
	w.bus.Calm()
	if got := w.next(t, 4*ackWait); fmt.Sprint(got) != "[2]" {
		t.Errorf("deliveries in fair weather %v", got)
	}
}

func TestALostAckOfAConsumerBringsTheMessageAgain(t *testing.T) {
	t.Parallel()
	w := start(t, proxy.BusFaults{LoseConsumed: 1})
	if err := w.publish(t, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := w.next(t, 4*ackWait); fmt.Sprint(got) != "[1 2 3]" && fmt.Sprint(got) != "[1 2 3 4]" {
		t.Errorf("deliveries %v", got)
	}
	w.want(t, proxy.ConsumedLost)
}

func TestACutConnectionComesBackAndIsCutAgain(t *testing.T) {
	t.Parallel()
	w := start(t, proxy.BusFaults{Cut: 1, CutBytes: 4000})
	for range 100 {
		_ = w.publish(t, 100*time.Millisecond) // some are lost
	}
	w.want(t, proxy.ConnectionCut)
	if w.conn.Reconnects == 0 {
		t.Error("the client has never reconnected")
	}
	w.bus.Calm()
	for {
		if err := w.publish(t, 5*time.Second); err == nil {
			break
		}
	}
	before := w.conn.Reconnects
	for range 100 {
		if err := w.publish(t, 5*time.Second); err != nil {
			t.Fatalf("in fair weather: %v", err)
		}
	}
	if w.conn.Reconnects != before {
		t.Error("a connection was cut in fair weather")
	}
}

func TestAStallHoldsEverythingUpForAWhile(t *testing.T) {
	t.Parallel()
	const most = 400 * time.Millisecond
	w := start(t, proxy.BusFaults{Stall: 1, StallMax: most})
	began := time.Now()
	if err := w.publish(t, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < most/8 {
		t.Errorf("a publish took %s", took)
	}
	w.want(t, proxy.Stalled)
}

func TestCutEndsAllConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	w := start(t, proxy.BusFaults{})
	lost := w.conn.StatusChanged(nats.RECONNECTING)
	w.bus.Cut()
	<-lost
	if err := w.publish(t, 10*time.Second); err != nil {
		t.Error(err)
	}
	if counts := w.tally.Counts(); len(counts) != 0 {
		t.Errorf("counted %v without faults", counts)
	}
}
