package jetstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// limit sets the size of a stream; 0 takes the limit away.
func limit(t *testing.T, f *jetstoretest.Fixture, stream string, bytes int64) {
	t.Helper()
	js := f.Store.JetStream()
	handle, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	config := handle.CachedInfo().Config
	if config.MaxBytes = bytes; bytes == 0 {
		config.MaxBytes = -1
	}
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

func kilobyte() []byte { return bytes.Repeat([]byte("x"), 1<<10) }

// soon is a context that ends while a bus is still full.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestAFullStreamIsNamedAndTakesMessagesAgainWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		limit(t, f, jetstore.StreamRequests, 4<<10)
		var told []string
		f.Store.OnFull(func(full jetstore.Full, ended bool) { told = append(told, fmt.Sprint(full.Stream, " ", ended)) })
		m := func() *nats.Msg { return &nats.Msg{Subject: "batchbus.requests.default.a", Data: kilobyte()} }
		var err error
		stored := 0
		for ; err == nil && stored < 5; stored++ {
			_, err = f.Store.Publish(soon(t), m())
		}
		full, ok := errors.AsType[*jetstore.FullError](err)
		if !ok || full.Stream != jetstore.StreamRequests || !strings.Contains(err.Error(), "BATCHBUS_REQUESTS is full: ") {
			t.Fatalf("after %d messages: %v", stored, err)
		}
		if now := f.Store.FullStreams(); len(now) != 1 || now[0].Stream != jetstore.StreamRequests || now[0].SinceAt.IsZero() {
			t.Errorf("full: %v", now)
		}
		window := f.Store.NewWindow(4)
		if err := window.Publish(t.Context(), m(), nil); err != nil {
			t.Fatal(err)
		}
		if err := window.Flush(soon(t)); !errors.As(err, &full) {
			t.Errorf("a window says %v", err)
		}
		limit(t, f, jetstore.StreamRequests, 0)
		if _, err := f.Store.Publish(soon(t), m()); err != nil {
			t.Error(err)
		}
		if now := f.Store.FullStreams(); len(now) != 0 || strings.Join(told, ", ") != "BATCHBUS_REQUESTS false, BATCHBUS_REQUESTS true" {
			t.Errorf("full: %v, told %q", now, told)
		}
	})
}

func TestAStreamThatNobodyTriedForLongIsNotCalledFull(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		limit(t, f, jetstore.StreamRequests, 512)
		if _, err := f.Store.Publish(soon(t), &nats.Msg{Subject: "batchbus.requests.default.a", Data: kilobyte()}); err == nil {
			t.Fatal("a message larger than its stream was stored")
		}
		<-time.NewTimer(5 * time.Minute).C
		if len(f.Store.FullStreams()) != 1 {
			t.Error("a refusal is forgotten within five minutes")
		}
		<-time.NewTimer(2 * time.Minute).C
		if now := f.Store.FullStreams(); len(now) != 0 {
			t.Errorf("after seven minutes: %v", now)
		}
	})
}

// A commit of several changes is stored as a whole or not at all wherever the limit cuts it.
func TestACommitThatDoesNotFitStoresNothingOfItself(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, commitsThatDoNotFit)
}

// commitsThatDoNotFit has fake time, in which a busy machine answers at once.
func commitsThatDoNotFit(t *testing.T, f *jetstoretest.Fixture) {
	t.Helper()
	changes := func(n int) []jetstore.Change {
		return []jetstore.Change{
			{Subject: jetstore.KeySubject(fmt.Sprintf("job.default.j%d", n)), Value: kilobyte()},
			{Subject: jetstore.KeySubject(fmt.Sprintf("batch.default.j%d.1", n)), Value: kilobyte()},
			{Subject: fmt.Sprintf("batchbus.events.job.opened.default.j%d.1", n), Value: kilobyte(), TTL: jetstore.OutboxTTL},
		}
	}
	limit(t, f, jetstore.StreamJobs, 64<<10)
	n, err := 0, error(nil)
	for ; err == nil && n < 64; n++ {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err = f.Store.Commit(ctx, changes(n)...)
		cancel()
	}
	if _, full := errors.AsType[*jetstore.FullError](err); !full {
		t.Fatalf("after %d commits: %v", n, err)
	}
	last := n - 1
	for room := int64(0); room <= 4<<10; room += 512 { // the limit cuts before, in and behind each of the three
		used, _, err := f.Store.Size(t.Context(), jetstore.StreamJobs)
		if err != nil {
			t.Fatal(err)
		}
		limit(t, f, jetstore.StreamJobs, int64(used)+room)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err = f.Store.Commit(ctx, changes(last)...)
		cancel()
		stands := 0
		for _, c := range changes(last) {
			if _, missing := f.Store.Last(t.Context(), jetstore.StreamJobs, c.Subject); missing == nil {
				stands++
			}
		}
		if err == nil && stands != 3 || err != nil && stands != 0 {
			t.Fatalf("with %d bytes of room: %d of 3 changes stand after %v", room, stands, err)
		}
		if err == nil {
			return
		}
	}
	t.Error("the commit found no room at all")
}

// The window's oldest message has no room, those behind it do: they are stored once, and known to be.
func TestMessagesBehindOneWithoutRoomAreSettledWhenTimeIsUp(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	limit(t, f, jetstore.StreamDeadletters, 512)
	window := f.Store.NewWindow(8)
	settled := 0
	full := &nats.Msg{Subject: "batchbus.deadletters.default.a.b", Data: kilobyte()}
	if err := window.PublishOnce(t.Context(), full, func(jetstore.Ack) { t.Error("a message without room is settled") }); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		m := &nats.Msg{Subject: "batchbus.rows.default.a", Data: kilobyte()}
		if err := window.Publish(t.Context(), m, func(jetstore.Ack) { settled++ }); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := window.Flush(ctx); err == nil || settled != 5 {
		t.Errorf("%d of 5 are settled, %v", settled, err)
	}
}
