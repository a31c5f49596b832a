package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// limit sets the size of a stream.
func limit(t *testing.T, f *jetstoretest.Fixture, stream string, bytes int64) {
	t.Helper()
	handle, err := f.Store.JetStream().Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	config := handle.CachedInfo().Config
	config.MaxBytes = bytes
	if _, err := f.Store.JetStream().UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// manyLines are more rows than one message takes.
func manyLines() (text string, n int) {
	var b strings.Builder
	for n = range 400 {
		fmt.Fprintf(&b, "{\"n\":%d,\"text\":%q}\n", n, strings.Repeat("x", 4<<10))
	}
	return b.String(), n + 1
}

func TestAFullBusRefusesAPublisherWhoCanActOnItAndRepeatHarmlessly(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	text, n := manyLines()
	limit(t, f, jetstore.StreamRequests, 1<<20)
	impatient := client.New(f.Store).WithFullTimeout(500 * time.Millisecond)
	in := func() client.Input {
		return client.Input{Queue: queue, Job: job, Digest: "d", Rows: strings.NewReader(text)}
	}
	for range 2 {
		published, err := impatient.Publish(t.Context(), in())
		full, ok := errors.AsType[*client.FullError](err)
		if !ok || full.Stream != jetstore.StreamRequests || full.Limit != 1<<20 || full.Bytes == 0 || full.Waited < 500*time.Millisecond {
			t.Fatalf("%d of %d rows are published, %v", published, n, err)
		}
		if !strings.Contains(err.Error(), "BATCHBUS_REQUESTS is full (") || !strings.Contains(err.Error(), " of 1048576 bytes)") {
			t.Errorf("error %q", err)
		}
	}
	limit(t, f, jetstore.StreamRequests, 64<<20)
	if published, err := impatient.Publish(t.Context(), in()); published != n || err != nil {
		t.Fatalf("with room: %d of %d rows, %v", published, n, err)
	}
	rows := 0
	for _, m := range requests(t, f) {
		rows += strings.Count(string(m.Data), "\n")
	}
	if rows != n {
		t.Errorf("the bus holds %d rows after three tries, want %d", rows, n)
	}
}

func TestAFullBusRefusesASealAndACancel(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	limit(t, f, jetstore.StreamRequests, 64)
	impatient := client.New(f.Store).WithFullTimeout(300 * time.Millisecond)
	for what, err := range map[string]error{
		"seal": impatient.Seal(t.Context(), queue, job, 1), "cancel": impatient.Cancel(t.Context(), queue, job),
	} {
		if _, full := errors.AsType[*client.FullError](err); !full {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A publisher that knows nothing of batchbus is told by the server.
func TestAFullBusAnswersAnyClientWithAnError(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	limit(t, f, jetstore.StreamRequests, 64)
	m := &nats.Msg{Subject: events.RequestSubject(queue, job), Data: []byte(`{"custom_id":"a"}` + strings.Repeat(" ", 100))}
	_, err := f.Store.JetStream().PublishMsg(t.Context(), m)
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok || api.ErrorCode != 10077 || api.Description != "maximum bytes exceeded" {
		t.Errorf("error %v", err)
	}
}
