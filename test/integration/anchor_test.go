package integration_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/natsd"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// lives is one bus in several lives of its server, between which its store can be set back, and a connection that lives through them.
type lives struct {
	t     *testing.T
	dir   string
	store *jetstore.Store

	mu     sync.Mutex
	server *natsd.Server
}

func newLives(t *testing.T) *lives {
	t.Helper()
	l := &lives{t: t, dir: filepath.Join(t.TempDir(), "store")}
	l.begin()
	conn, err := nats.Connect("", nats.InProcessServer(l), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); l.server.Shutdown() })
	if l.store, err = jetstore.Open(conn); err != nil {
		t.Fatal(err)
	}
	if err := jetstore.Setup(t.Context(), l.store.JetStream(), jetstore.Settings{KeepSizes: true, AckWait: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lives) begin() {
	l.t.Helper()
	server, err := natsd.Start(l.t.Context(), natsd.Options{Dir: l.dir})
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = server
}

// InProcessConn dials the present life.
func (l *lives) InProcessConn() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.server.InProcessConn()
}

// again ends a life and begins the next, with between in between, and waits until the connection has followed.
func (l *lives) again(between func()) {
	l.t.Helper()
	l.server.Shutdown()
	between()
	l.begin()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	if _, err := l.store.BusID(ctx); err != nil {
		l.t.Fatal(err)
	}
}

// copied begins a new life, and returns how to go back to this moment, in yet another.
func (l *lives) copied() (goBack func()) {
	l.t.Helper()
	kept := filepath.Join(l.t.TempDir(), "copy")
	if _, err := l.store.BusID(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	l.again(func() { l.must(os.CopyFS(kept, os.DirFS(l.dir))) })
	return func() {
		l.again(func() {
			l.must(os.RemoveAll(l.dir))
			l.must(os.CopyFS(l.dir, os.DirFS(kept)))
		})
	}
}

func (l *lives) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func TestAnchoredWorkChangesNothingOfABusThatWentBackInTime(t *testing.T) {
	t.Parallel()
	l := newLives(t)
	goBack := l.copied()
	ctx := l.store.Anchor(t.Context())
	l.must(publishOn(ctx, l.store, "batchbus.results.default.j1.a"))
	goBack()

	cursor := jetstore.Change{Subject: jetstore.KeySubject("cursor.default.j1.1"), Value: []byte("a has its result")}
	if _, err := l.store.Commit(ctx, cursor); !errors.Is(err, jetstore.ErrOtherServer) {
		t.Errorf("commit: %v", err)
	}
	if err := publishOn(ctx, l.store, "batchbus.rows.default.j1"); !errors.Is(err, jetstore.ErrOtherServer) {
		t.Errorf("publish: %v", err)
	}
	if err := l.store.Purge(ctx, jetstore.StreamRows, "batchbus.rows.default.j1", 0); !errors.Is(err, jetstore.ErrOtherServer) {
		t.Errorf("purge: %v", err)
	}
	if counts, err := l.store.SubjectCounts(ctx, jetstore.StreamRows, ">"); err != nil || len(counts) > 0 {
		t.Errorf("rows %v, %v", counts, err)
	}
	// The revision alone does not tell the two timelines apart: what nobody has anchored is taken, and is wrong.
	if _, err := l.store.Commit(t.Context(), cursor); err != nil {
		t.Errorf("without an anchor: %v", err)
	}
	if _, err := l.store.Last(ctx, jetstore.StreamResults, "batchbus.results.>"); !errors.Is(err, jetstore.ErrNotFound) {
		t.Errorf("the result is there: %v", err)
	}
	// Work that begins now goes on.
	cursor.Expect = 0
	cursor.Subject = jetstore.KeySubject("cursor.default.j1.2")
	if _, err := l.store.Commit(l.store.Anchor(ctx), cursor); err != nil {
		t.Errorf("begun anew: %v", err)
	}
}

func publishOn(ctx context.Context, s *jetstore.Store, subject string) error {
	_, err := s.Publish(ctx, &nats.Msg{Subject: subject, Data: []byte("{}")})
	return err
}

func TestAMessageWhoseAckWasMeantForALifeThatIsOverComesAgain(t *testing.T) {
	t.Parallel()
	l := newLives(t)
	l.must(publishOn(t.Context(), l.store, events.RequestSubject("default", "j1")))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var early error
	deliveries := 0
	l.must(l.store.Batches(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest, jetstore.BatchOptions{},
		func(ctx context.Context, batch []jetstore.Delivery) error {
			deliveries++
			if deliveries == 1 {
				l.copied() //nolint:contextcheck // the handler's ends with the bus it was copied from; the copy has the message as delivered; what was stored of it meanwhile may be gone
				early = batch[0].Ack()
				if err := publishOn(ctx, l.store, "batchbus.rows.default.j1"); !errors.Is(err, jetstore.ErrOtherServer) {
					t.Errorf("the handler's publish: %v", err)
				}
				return nil
			}
			defer stop()
			return batch[0].AckSync(ctx)
		}))
	if !errors.Is(early, jetstore.ErrOtherServer) || deliveries != 2 {
		t.Errorf("ack %v, %d deliveries", early, deliveries)
	}
	if _, err := l.store.First(t.Context(), jetstore.StreamRequests, ">"); !errors.Is(err, jetstore.ErrNotFound) {
		t.Errorf("the message is still there: %v", err)
	}
}
