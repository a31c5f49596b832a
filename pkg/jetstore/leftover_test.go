package jetstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/natsd"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// serve starts a server on dir for as long as use runs.
func serve(t *testing.T, dir string, use func(ctx context.Context, s *jetstore.Store)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := natsd.Start(ctx, natsd.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	nc, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	s, err := jetstore.Open(nc)
	if err != nil {
		t.Fatal(err)
	}
	if err := jetstore.Setup(ctx, s.JetStream(), jetstore.Settings{KeepSizes: true}); err != nil {
		t.Fatal(err)
	}
	use(ctx, s)
}

// consumeRequests hands every message that comes within its first batch to handle, until none is left.
func consumeRequests(ctx context.Context, s *jetstore.Store, handle func(d jetstore.Delivery) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return s.Batches(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest, jetstore.BatchOptions{}, func(ctx context.Context, batch []jetstore.Delivery) error {
		for _, d := range batch {
			if err := handle(d); err != nil {
				return err
			}
			if err := d.AckSync(ctx); err != nil {
				return err
			}
		}
		if _, err := s.First(ctx, jetstore.StreamRequests, ">"); errors.Is(err, jetstore.ErrNotFound) {
			stop()
		}
		return nil
	})
}

// A server that was killed can come back with messages of a work queue that its consumer counts as done. The state is made here by
// putting the stream's files from before the acks back: the consumer's stay as they are after them.
func TestMessagesThatAKilledServerForgotToDeleteAreHandedOutAgainAndDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := filepath.Join(dir, "jetstream", "$G", "streams", jetstore.StreamRequests, "msgs")
	before := filepath.Join(t.TempDir(), "msgs")
	serve(t, dir, func(ctx context.Context, s *jetstore.Store) {
		for i := range 3 {
			m := &nats.Msg{Subject: "batchbus.requests.default.j", Header: nats.Header{"N": {strconv.Itoa(i)}}, Data: []byte("x")}
			if _, err := s.Publish(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err := os.CopyFS(before, os.DirFS(files)); err != nil {
		t.Fatal(err)
	}
	serve(t, dir, func(ctx context.Context, s *jetstore.Store) {
		if err := consumeRequests(ctx, s, func(jetstore.Delivery) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
	if err := errors.Join(os.RemoveAll(files), os.CopyFS(files, os.DirFS(before))); err != nil {
		t.Fatal(err)
	}
	serve(t, dir, func(ctx context.Context, s *jetstore.Store) {
		if first, err := s.First(ctx, jetstore.StreamRequests, ">"); err != nil || first.Sequence != 1 {
			t.Fatalf("the test made no leftovers: %v %v", first.Sequence, err)
		}
		var again []string
		given := false
		err := consumeRequests(ctx, s, func(d jetstore.Delivery) error {
			if !given {
				given = true
				return errors.New("not now") // it stays, and comes again
			}
			again = append(again, d.Header.Get("N"))
			return nil
		})
		if err != nil || len(again) != 3 || again[0] != "0" || again[2] != "2" {
			t.Errorf("handed out again: %v, %v", again, err)
		}
	})
}
