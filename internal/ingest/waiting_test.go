package ingest_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/ingest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
	"github.com/batchbus/batchbus/pkg/rows"
)

// mute is a connection that dies of its first ack, as a process does between its publish and its ack.
type mute struct {
	server interface{ InProcessConn() (net.Conn, error) }
	died   chan struct{}
}

func (m *mute) InProcessConn() (net.Conn, error) {
	conn, err := m.server.InProcessConn()
	return &muteConn{conn, m.died}, err
}

type muteConn struct {
	net.Conn
	died chan struct{}
}

func (c *muteConn) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte("$JS.ACK.")) {
		return c.Conn.Write(p)
	}
	select {
	case <-c.died:
	default:
		close(c.died)
	}
	c.Close()
	return 0, io.ErrClosedPipe
}

func TestAMessageThatComesAgainHasTheSameSources(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		r := newRig(t, f)
		anonymous := `{"method":"POST"}`
		r.publish("default.j", row("a")+"\n"+anonymous)
		r.publish("default.j", row("b"), "Nats-Msg-Id", "mine")
		r.publish("default", row("c"))
		wait(40 * time.Second) // so that it comes again in the next window
		m := &mute{f.Server, make(chan struct{})}
		nc, err := nats.Connect("", nats.InProcessServer(m), nats.NoReconnect())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		dying, err := jetstore.Open(nc)
		if err != nil {
			t.Fatal(err)
		}
		stop := r.run(func(c *ingest.Config) { c.Bus, c.DrainTimeout = dying, time.Second })
		<-m.died
		stop()
		if !r.left("batchbus.requests.default.j") {
			t.Fatal("the first replica has acked")
		}
		defer r.run(nil)()
		r.ingested()

		sources := map[block.Hash]string{}
		all := r.stored("default", "j")
		for _, e := range all {
			sources[e.Source] = e.CustomID
		}
		if len(all) != 4 || len(sources) != 2 {
			t.Errorf("got %d rows of %d sources: %s", len(all), len(sources), names(all))
		}
		r.wantDeadLetter("default.j.*", rows.CodeMissingCustomID, anonymous)
		counts, err := r.Store.SubjectCounts(context.Background(), jetstore.StreamRows, "batchbus.rows.default.*")
		if err != nil || len(counts) != 2 { // j and one window
			t.Errorf("the rows are in %v, %v", counts, err)
		}
	})
}

func TestAnAbsentObjectIsWaitedForTenMinutes(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		r := newRig(t, f)
		late := r.claimed(row("late"))
		never := []string{jetstore.HeaderObject, "no such", jetstore.HeaderDigest, late[3], jetstore.HeaderSize, "5"}
		r.publish("default.j", "", never...)
		published := time.Now()
		defer r.run(nil)()
		wait(9 * time.Minute)
		if len(r.deadLetters("default.j.*")) != 0 || !r.left("batchbus.requests.default.j") {
			t.Fatal("it is given up early")
		}
		r.publish("default.j", "", late...)
		r.ingestedWithin(30 * time.Minute)
		d := r.wantDeadLetter("default.j.*", events.DLObjectMissing, "")
		if d.At.Sub(published) < 10*time.Minute {
			t.Errorf("given up after %s", d.At.Sub(published))
		}
		if !strings.Contains(d.Message, `"no such"`) {
			t.Errorf("which object is missing it does not say: %s", d.Message)
		}
		r.want("default", "j", "late")
	})
}

func TestARollingJobIsSealedAfterItsWindow(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		r := newRig(t, f)
		const first, second = "auto-20000101T000000Z-60", "auto-20000101T000100Z-60" // a bubble begins at the start of 2000
		stop := r.run(func(c *ingest.Config) { c.SweepInterval = time.Hour })
		defer func() { stop() }()
		r.publish("q", row("a"))
		wait(time.Second)
		r.publish("q", row("b"))
		wait(58 * time.Second)
		r.want("q", first, "a b")
		wait(2 * time.Second) // in the second window
		r.publish("q", row("a"))
		wait(3 * time.Second)
		r.want("q", first, "a b") // the slack is not over
		wait(2 * time.Second)
		r.want("q", first, "a b seal")
		r.want("q", second, "a")

		stop() // a replica that never saw it open finds it by its search
		stop = r.run(nil)
		wait(2 * time.Minute)
		r.want("q", second, "a seal")
		wait(10 * time.Minute) // searches go on, and nothing is sealed twice nor opened for a seal
		r.want("q", first, "a b seal")
		r.want("q", second, "a seal")
		counts, err := r.Store.SubjectCounts(context.Background(), jetstore.StreamJobs, jetstore.KeySubject("job.q.*"))
		if err != nil || len(counts) != 2 {
			t.Errorf("got jobs %v, %v", counts, err)
		}
	})
}

func TestARollingJobIsNotSealedBeforeItsLastRowIsStored(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		r := newRig(t, f)
		const job = "auto-20000101T000000Z-60"
		// Another replica fetches the second row and dies with it.
		stop := r.run(nil)
		r.publish("q", row("a"))
		r.ingested()
		stop()
		r.publish("q", row("b"))
		consumer, err := r.Store.JetStream().Consumer(context.Background(), jetstore.StreamRequests, jetstore.ConsumerIngest)
		if err != nil {
			t.Fatal(err)
		}
		wait(50 * time.Second)
		if _, err := consumer.Next(); err != nil {
			t.Fatal(err)
		}
		defer r.run(nil)()
		wait(20 * time.Second) // the seal came at 65 s, the row comes again at 80 s
		r.want("q", job, "a")
		wait(20 * time.Second)
		r.want("q", job, "a b seal")
	})
}

func TestAnOpenWindowCanBeCancelled(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		r := newRig(t, f)
		const job = "auto-20000101T000000Z-60"
		defer r.run(nil)()
		r.publish("q", row("a"))
		r.publish("q", "", events.HeaderCancel, "true", events.HeaderJob, job)
		wait(10 * time.Second)
		r.want("q", job, "a")
		if j, _ := r.job("q", job); j.CancelWanted == nil || r.left("batchbus.requests.q") {
			t.Error("the wish is not noted")
		}
		wait(time.Minute)
		r.want("q", job, "a seal")
	})
}

// limitRows gives ROWS a size limit.
func (r *rig) limitRows(bytes int64) {
	r.t.Helper()
	ctx := context.Background()
	stream, err := r.Store.JetStream().Stream(ctx, jetstore.StreamRows)
	if err != nil {
		r.t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxBytes = bytes
	if _, err := r.Store.JetStream().UpdateStream(ctx, config); err != nil {
		r.t.Fatal(err)
	}
}

func TestAFullRowsStreamLosesNothing(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		r := newRig(t, f)
		defer r.run(nil)()
		filler := rowWith("filler", string(bytes.Repeat([]byte("f"), 9000)))
		r.publish("default.open", filler)
		r.ingested()
		r.limitRows(11_000) // above four fifths
		wait(5 * time.Second)
		r.publish("default.new", row("n"))
		r.publish("default.open", row("small"))
		wait(time.Second)
		r.publish("default.open", rowWith("big", string(bytes.Repeat([]byte("b"), 4000))))
		r.publish("default.open", rowWith("vast", string(bytes.Repeat([]byte("v"), 4000)))) // and another in the same fetch
		wait(10 * time.Minute)
		r.want("default", "open", "filler small")
		if _, opened := r.job("default", "new"); opened {
			t.Error("a job was opened in a stream that is nearly full")
		}
		if !r.left("batchbus.requests.default.new") || !r.left("batchbus.requests.default.open") {
			t.Fatal("rows were acked that are not stored")
		}
		r.limitRows(1 << 20)
		r.ingestedWithin(30 * time.Minute)
		r.want("default", "new", "n")
		all := names(r.stored("default", "open"))
		if !strings.Contains(all, " big") || !strings.Contains(all, " vast") {
			t.Errorf("got %s", all)
		}
	})
}

// wait lets fake time pass.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
