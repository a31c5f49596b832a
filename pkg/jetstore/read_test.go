package jetstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestRead(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	const subject, blocks, size = "batchbus.rows.q.big", 120, 512 << 10 // 60 MiB
	w := f.Store.NewWindow(8)
	sequences := make([]uint64, 0, blocks)
	for i := range blocks {
		m := &nats.Msg{Subject: subject, Header: nats.Header{"N": {strconv.Itoa(i)}}, Data: bytes.Repeat([]byte{byte(i)}, size)}
		if err := w.Publish(t.Context(), m, func(a jetstore.Ack) { sequences = append(sequences, a.Sequence) }); err != nil {
			t.Fatal(err)
		}
		other := &nats.Msg{Subject: "batchbus.rows.q.other", Data: []byte("x")}
		if err := w.Publish(t.Context(), other, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}

	t.Run("everything comes in order, as it was stored, with a page in memory", func(t *testing.T) {
		var ahead uint64 // the most bytes that had come and were not yielded yet
		before, yielded := f.Conn.Stats().InBytes, uint64(0)
		next := 10
		for m, err := range f.Store.Read(t.Context(), jetstore.StreamRows, subject, sequences[next]) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Sequence != sequences[next] || m.Data[0] != byte(next) || len(m.Data) != size || len(m.Header) != 1 || m.Header.Get("N") != strconv.Itoa(next) {
				t.Fatalf("message %d: sequence %d, headers %v", next, m.Sequence, m.Header)
			}
			if next%16 == 0 {
				quiet(t, f) // a slow reader: whatever was asked for is here now
			}
			ahead = max(ahead, f.Conn.Stats().InBytes-before-yielded)
			yielded += size
			next++
		}
		if next != blocks {
			t.Errorf("ended at %d of %d", next, blocks)
		}
		if ahead > 10<<20 { // a page, and the leader's answer where the end is
			t.Errorf("%d MiB of 55 were in memory at once", ahead>>20)
		}
	})

	t.Run("a loop can end early, and an empty range ends at once", func(t *testing.T) {
		for range f.Store.Read(t.Context(), jetstore.StreamRows, subject, 1) {
			break
		}
		for m, err := range f.Store.Read(t.Context(), jetstore.StreamRows, subject, sequences[blocks-1]+1) {
			t.Errorf("got %d, %v", m.Sequence, err)
		}
	})

	t.Run("a purge takes what is up to the sequence and no more", func(t *testing.T) {
		if err := f.Store.Purge(t.Context(), jetstore.StreamRows, subject, sequences[9]); err != nil {
			t.Fatal(err)
		}
		first, err := f.Store.First(t.Context(), jetstore.StreamRows, subject)
		if err != nil || first.Sequence != sequences[10] {
			t.Errorf("the first is %d, want %d: %v", first.Sequence, sequences[10], err)
		}
		if _, err := f.Store.At(t.Context(), jetstore.StreamRows, sequences[9]); !errors.Is(err, jetstore.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
	})
}

// quiet waits until nothing more comes from the server.
func quiet(t *testing.T, f *jetstoretest.Fixture) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for still, seen := 0, uint64(0); still < 20; still++ {
		if err := f.Conn.FlushWithContext(ctx); err != nil {
			t.Fatal(err)
		}
		if now := f.Conn.Stats().InBytes; now != seen {
			still, seen = 0, now
		}
	}
}

func TestFirstAsksTheLeader(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	asked, err := f.Conn.SubscribeSync("$JS.API.STREAM.MSG.GET.*")
	if err != nil {
		t.Fatal(err)
	}
	direct, err := f.Conn.SubscribeSync("$JS.API.DIRECT.>")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Store.First(t.Context(), jetstore.StreamRows, "batchbus.rows.q.none"); !errors.Is(err, jetstore.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	request(t, f, "a")
	request(t, f, "b")
	m, err := f.Store.First(t.Context(), jetstore.StreamRequests, "batchbus.requests.q.b")
	if err != nil || string(m.Data) != "b" || m.Sequence != 2 || m.At.IsZero() {
		t.Errorf("got %+v, %v", m, err)
	}
	for _, want := range []string{jetstore.StreamRows, jetstore.StreamRequests} {
		got, err := asked.NextMsgWithContext(t.Context())
		if err != nil || got.Subject != "$JS.API.STREAM.MSG.GET."+want {
			t.Errorf("asked %v: %v", got, err)
		}
	}
	if n, _, err := direct.Pending(); n != 0 || err != nil {
		t.Errorf("%d replicas were asked, %v", n, err)
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	body := strings.Repeat("0123456789abcdef", 100_000) // 1.6 MB, a broken last chunk
	o, err := f.Store.PutObject(t.Context(), jetstore.StreamRows, "batchbus.rows.q.j", io.MultiReader(strings.NewReader(body[:7]), strings.NewReader(body[7:])))
	if err != nil {
		t.Fatal(err)
	}

	t.Run("what was put is read, through the headers of a message", func(t *testing.T) {
		t.Parallel()
		h := nats.Header{}
		o.SetHeader(h)
		named, ok := jetstore.ObjectOf(h)
		if !ok || named != o || named.Size != int64(len(body)) || !strings.HasPrefix(named.Name, "BATCHBUS_ROWS/batchbus.rows.q.j/") {
			t.Fatalf("got %+v", named)
		}
		if got, err := readObject(t, f, named); err != nil || got != body {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})

	t.Run("nats.go reads it as an object of its own store", func(t *testing.T) {
		t.Parallel()
		bucket, err := f.Store.JetStream().ObjectStore(t.Context(), jetstore.BucketObjects)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := bucket.GetString(t.Context(), o.Name); err != nil || got != body {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})

	t.Run("bytes that are not those of the digest are an error", func(t *testing.T) {
		t.Parallel()
		other, err := f.Store.PutObject(t.Context(), "S", "s", strings.NewReader("other"))
		if err != nil {
			t.Fatal(err)
		}
		other.Digest = o.Digest
		if _, err := readObject(t, f, other); !errors.Is(err, jetstore.ErrDigest) {
			t.Errorf("got %v, want ErrDigest", err)
		}
	})

	t.Run("an absent object is missing, and an empty one is not", func(t *testing.T) {
		t.Parallel()
		if _, err := f.Store.OpenObject(t.Context(), jetstore.Object{Name: "none"}); !errors.Is(err, jetstore.ErrObjectMissing) {
			t.Errorf("got %v, want ErrObjectMissing", err)
		}
		empty, err := f.Store.PutObject(t.Context(), "S", "s", strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readObject(t, f, empty); err != nil || got != "" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestObjectsAreSwept(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	if _, err := f.Store.PutObject(t.Context(), "S", "a.b", iotestError{}); err == nil {
		t.Error("a reader's error was swallowed")
	}
	o, err := f.Store.PutObject(t.Context(), "S", "a.b", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	for stored, err := range f.Store.Objects(t.Context()) {
		if err != nil || stored.Object != o || stored.Stream != "S" || stored.Subject != "a.b" || stored.At.IsZero() {
			t.Errorf("got %+v, %v", stored, err)
		}
	}
	for range 2 {
		if err := f.Store.DeleteObject(t.Context(), o.Name); err != nil {
			t.Fatal(err)
		}
	}
	counts, err := f.Store.SubjectCounts(t.Context(), "OBJ_batchbus_objects", ">")
	if err != nil || len(counts) != 0 {
		t.Errorf("left behind: %v, %v", counts, err)
	}
}

type iotestError struct{}

func (iotestError) Read(p []byte) (int, error) { return len(p) / 2, errors.New("torn") }

func readObject(t *testing.T, f *jetstoretest.Fixture, o jetstore.Object) (string, error) {
	t.Helper()
	r, err := f.Store.OpenObject(t.Context(), o)
	if err != nil {
		return "", err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	return string(got), err
}

func TestFit(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	small := &nats.Msg{Subject: "batchbus.results.q.j.a", Data: []byte("{}")}
	if got, err := f.Store.Fit(t.Context(), jetstore.StreamResults, small, nil); err != nil || got != small {
		t.Errorf("a message that fits was changed: %v", err)
	}
	big := &nats.Msg{Subject: "batchbus.results.q.j.b", Header: nats.Header{"Batchbus-Job": {"j"}}, Data: make([]byte, 8<<20)}
	got, err := f.Store.Fit(t.Context(), jetstore.StreamResults, big, []byte(`{"response":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Store.PublishOnce(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	m, err := f.Store.Last(t.Context(), jetstore.StreamResults, big.Subject)
	if err != nil || string(m.Data) != `{"response":null}` || m.Header.Get("Batchbus-Job") != "j" {
		t.Errorf("stored %q %v: %v", m.Data, m.Header, err)
	}
	o, ok := jetstore.ObjectOf(m.Header)
	if body, err := readObject(t, f, o); !ok || err != nil || body != string(big.Data) {
		t.Errorf("the object has %d bytes: %v", len(body), err)
	}
	if len(big.Header) != 1 {
		t.Errorf("the original's headers were changed: %v", big.Header)
	}
}

// A copy of a message that was got brings the headers of the get along: its own place is where it is now, and nobody waits for another.
func TestReadKnowsACopyByItsOwnPlace(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	const subject = "batchbus.rows.q.copied"
	forged := nats.Header{
		"Nats-Stream": {"ELSEWHERE"}, "Nats-Subject": {"batchbus.rows.q.elsewhere"}, "Nats-Sequence": {"1"}, "Nats-Last-Sequence": {"77"},
		"Nats-Time-Stamp": {"2001-01-01T00:00:00Z"}, "Nats-Num-Pending": {"9"}, "N": {"kept"},
	}
	var want []uint64
	for range 3 {
		w := f.Store.NewWindow(1)
		m := &nats.Msg{Subject: subject, Header: forged, Data: []byte("x")}
		if err := w.Publish(t.Context(), m, func(a jetstore.Ack) { want = append(want, a.Sequence) }); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got []uint64
	for m, err := range f.Store.Read(ctx, jetstore.StreamRows, subject, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject != subject || len(m.Header) != 1 || time.Since(m.At) > time.Hour {
			t.Errorf("got %s of %s with %v", m.Subject, m.At, m.Header)
		}
		got = append(got, m.Sequence)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
}
