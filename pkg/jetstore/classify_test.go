package jetstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	api := func(code int, number jetstream.ErrorCode, text string) error {
		return fmt.Errorf("nats: %w", &jetstream.APIError{Code: code, ErrorCode: number, Description: text})
	}
	for _, c := range []struct {
		err  error
		want jetstore.Outcome
	}{
		{nil, jetstore.Stored},
		{api(400, 10071, "wrong last sequence: 7"), jetstore.Already},
		{api(400, 10164, "wrong last sequence"), jetstore.Again},
		{api(429, 10167, "too many requests"), jetstore.Again},
		{api(400, 10176, "batch publish is incomplete"), jetstore.Again},
		{api(503, 10077, "maximum bytes exceeded"), jetstore.Again},
		{api(400, 10002, "resource limits exceeded for account"), jetstore.Again},
		{api(503, 10023, "insufficient resources"), jetstore.Again},
		{api(500, 10047, "insufficient storage resources available"), jetstore.Again},
		{api(503, 10077, "maximum messages per subject exceeded"), jetstore.Again},
		{api(503, 10077, "message too large"), jetstore.TooBig},
		{api(400, 10054, "message size exceeds maximum allowed"), jetstore.TooBig},
		{api(503, 10008, "JetStream system temporarily unavailable"), jetstore.Again},
		{api(429, 10210, "atomic publish too many inflight"), jetstore.Again},
		{api(400, 10174, "batch publish not enabled on stream"), jetstore.Refused},
		{nats.ErrMaxPayload, jetstore.TooBig},
		{nats.ErrTimeout, jetstore.Again},
		{nats.ErrDisconnected, jetstore.Again},
		{nats.ErrNoResponders, jetstore.Again},
		{jetstream.ErrNoStreamResponse, jetstore.Again},
		{jetstream.ErrAsyncPublishTimeout, jetstore.Again},
		{jetstream.ErrTooManyStalledMsgs, jetstore.Again},
		{jetstream.ErrInvalidJSAck, jetstore.Again},
		{context.DeadlineExceeded, jetstore.Again},
		{nats.ErrConnectionClosed, jetstore.Refused},
		{nats.ErrBadSubject, jetstore.Refused},
	} {
		if got := jetstore.Classify(c.err); got != c.want {
			t.Errorf("%v is %s, want %s", c.err, got, c.want)
		}
	}
}

func TestPublish(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	result := func(row string, size int) *nats.Msg {
		return &nats.Msg{Subject: "batchbus.results.q.j." + row, Data: []byte(strings.Repeat("x", size))}
	}

	t.Run("a message published once is stored once", func(t *testing.T) {
		t.Parallel()
		if _, err := f.Store.PublishOnce(t.Context(), result("once", 1)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // without the expectation it would be repeated for ever
		defer cancel()
		if _, err := f.Store.PublishOnce(ctx, result("once", 2)); !errors.Is(err, jetstore.ErrExists) {
			t.Errorf("got %v, want ErrExists", err)
		}
		if m, err := f.Store.Last(t.Context(), jetstore.StreamResults, "batchbus.results.q.j.once"); err != nil || len(m.Data) != 1 {
			t.Errorf("the first message was replaced: %d bytes, %v", len(m.Data), err)
		}
	})

	t.Run("without an expectation the results stream itself refuses a second message", func(t *testing.T) {
		t.Parallel()
		if _, err := f.Store.Publish(t.Context(), result("plain", 1)); err != nil {
			t.Fatal(err)
		}
		_, err := f.Store.JetStream().PublishMsg(t.Context(), result("plain", 1))
		if api, ok := errors.AsType[*jetstream.APIError](err); !ok || api.ErrorCode != 10077 || jetstore.Classify(err) != jetstore.Again {
			t.Errorf("got %v", err)
		}
	})

	t.Run("what no stream takes is repeated until the context ends", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := f.Store.Publish(ctx, &nats.Msg{Subject: "nobody.listens"})
		if err == nil || ctx.Err() == nil {
			t.Errorf("gave up early, with %v", err)
		}
	})

	t.Run("a message above max_payload is too big and its subject is named", func(t *testing.T) {
		t.Parallel()
		_, err := f.Store.Publish(t.Context(), result("big", 9<<20))
		if !errors.Is(err, jetstore.ErrTooBig) || !strings.Contains(err.Error(), "batchbus.results.q.j.big") {
			t.Errorf("got %v", err)
		}
		w := f.Store.NewWindow(4)
		if err := w.Publish(t.Context(), result("big", 9<<20), nil); !errors.Is(err, jetstore.ErrTooBig) {
			t.Errorf("the window says %v", err)
		}
	})
}

func TestWindow(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	const rows = 20000
	publish := func(rows int) (stored, already int) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // without the expectation it would be repeated for ever
		defer cancel()
		w := f.Store.NewWindow(0)
		settled := func(a jetstore.Ack) {
			if a.Already {
				already++
			} else {
				stored++
			}
		}
		for i := range rows {
			m := &nats.Msg{Subject: fmt.Sprintf("batchbus.results.q.w.%d", i), Data: []byte("{}")}
			if err := w.PublishOnce(ctx, m, settled); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		return stored, already
	}
	if stored, already := publish(rows / 2); stored != rows/2 || already != 0 {
		t.Errorf("first: %d stored, %d already there", stored, already)
	}
	if stored, already := publish(rows); stored != rows/2 || already != rows/2 {
		t.Errorf("then: %d stored, %d already there", stored, already)
	}
	counts, err := f.Store.SubjectCounts(t.Context(), jetstore.StreamResults, "batchbus.results.q.w.>")
	if err != nil || len(counts) != rows {
		t.Errorf("%d subjects: %v", len(counts), err)
	}
}

// windowLosesNothing cuts the connection under a window three times.
func windowLosesNothing(t *testing.T, world lossyWorld) {
	t.Helper()
	w := world.ours.NewWindow(256)
	settled := 0
	for i := range 3000 {
		if i%1000 == 500 {
			world.connected(t.Context())
			world.link.LoseAfter(100)
			time.AfterFunc(20*time.Millisecond, world.link.Heal)
		}
		m := &nats.Msg{Subject: fmt.Sprintf("batchbus.results.q.lost.%d", i), Data: []byte("{}")}
		if err := w.PublishOnce(t.Context(), m, func(jetstore.Ack) { settled++ }); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	counts, err := world.rival.SubjectCounts(t.Context(), jetstore.StreamResults, "batchbus.results.q.lost.>")
	if err != nil || len(counts) != 3000 || settled != 3000 {
		t.Errorf("%d settled, %d stored: %v", settled, len(counts), err)
	}
}
