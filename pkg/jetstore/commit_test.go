package jetstore_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func change(key, value string, expect uint64) jetstore.Change {
	return jetstore.Change{Subject: jetstore.KeySubject(key), Value: []byte(value), Expect: expect}
}

func event(subject string) jetstore.Change {
	return jetstore.Change{Subject: "batchbus.events." + subject, Value: []byte(`{}`), TTL: jetstore.OutboxTTL}
}

func TestCommit(t *testing.T) {
	t.Parallel()

	t.Run("revisions are those of the changes, in their order", func(t *testing.T) {
		t.Parallel()
		f := jetstoretest.Start(t)
		revisions, err := f.Store.Commit(t.Context(), change("job.q.a", "1", 0), change("batch.q.a.1", "2", 0), event("job.opened.q.a.0"))
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range []string{"job.q.a", "batch.q.a.1"} {
			have, err := f.Store.Get(t.Context(), key)
			if err != nil || have.Revision != revisions[i] || string(have.Value) != strconv.Itoa(i+1) {
				t.Errorf("%s is %+v (%v), want revision %d", key, have, err, revisions[i])
			}
		}
		if _, err := f.Store.Commit(t.Context(), change("job.q.a", "3", revisions[0])); err != nil {
			t.Errorf("a returned revision cannot be replaced: %v", err)
		}
	})

	t.Run("one wrong revision stores nothing at all", func(t *testing.T) {
		t.Parallel()
		f := jetstoretest.Start(t)
		if _, err := f.Store.Commit(t.Context(), change("job.q.a", "1", 0)); err != nil {
			t.Fatal(err)
		}
		for _, changes := range [][]jetstore.Change{
			{change("job.q.a", "2", 0)},
			{change("job.q.b", "2", 0), change("job.q.a", "2", 0)},
			{change("job.q.a", "2", 99), change("job.q.b", "2", 0), event("job.opened.q.b.0")},
		} {
			if _, err := f.Store.Commit(t.Context(), changes...); !errors.Is(err, jetstore.ErrConflict) {
				t.Errorf("got %v, want ErrConflict", err)
			}
		}
		if _, err := f.Store.Get(t.Context(), "job.q.b"); !errors.Is(err, jetstore.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
		if have, _ := f.Store.Get(t.Context(), "job.q.a"); string(have.Value) != "1" {
			t.Errorf("the value is %q", have.Value)
		}
	})

	t.Run("a key that a person deleted can be made again from the revision Get names", func(t *testing.T) {
		t.Parallel()
		f := jetstoretest.Start(t)
		kv, err := f.Store.JetStream().KeyValue(t.Context(), jetstore.BucketJobs)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Store.Commit(t.Context(), change("job.q.a", "1", 0)); err != nil {
			t.Fatal(err)
		}
		if err := kv.Delete(t.Context(), "job.q.a"); err != nil {
			t.Fatal(err)
		}
		have, err := f.Store.Get(t.Context(), "job.q.a")
		if !errors.Is(err, jetstore.ErrNotFound) {
			t.Fatalf("got %v, want ErrNotFound", err)
		}
		if _, err := f.Store.Commit(t.Context(), change("job.q.a", "2", have.Revision)); err != nil {
			t.Error(err)
		}
	})

	t.Run("an oversized or empty commit is refused and says why", func(t *testing.T) {
		t.Parallel()
		f := jetstoretest.Start(t)
		if _, err := f.Store.Commit(t.Context(), change("job.q.a", strings.Repeat("x", 9<<20), 0)); !errors.Is(err, jetstore.ErrTooBig) {
			t.Errorf("got %v, want ErrTooBig", err)
		}
		if _, err := f.Store.Commit(t.Context()); err == nil {
			t.Error("no changes were committed")
		}
	})
}

func TestEventOutlivesItsOutboxCopy(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		e := event("job.opened.q.a.0")
		e.TTL = time.Hour // a week of fake time costs half a minute of the server's housekeeping
		if _, err := f.Store.Commit(t.Context(), change("job.q.a", "1", 0), e); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if _, err := f.Store.Last(t.Context(), jetstore.StreamJobs, e.Subject); !errors.Is(err, jetstore.ErrNotFound) {
			t.Errorf("the outbox still has the event after its TTL: %v", err)
		}
		if m, err := f.Store.Last(t.Context(), jetstore.StreamEvents, e.Subject); err != nil || string(m.Data) != "{}" {
			t.Errorf("the events stream has %q: %v", m.Data, err)
		}
		counts, err := f.Store.SubjectCounts(t.Context(), jetstore.StreamEvents, ">")
		if err != nil || len(counts) != 1 || counts[e.Subject] != 1 {
			t.Errorf("the events stream holds %v: %v", counts, err)
		}
		if have, err := f.Store.Get(t.Context(), "job.q.a"); err != nil || string(have.Value) != "1" {
			t.Errorf("the state is %q: %v", have.Value, err)
		}
	})
}

// TestCommitTellsTheTruthUnderLostReplies loses the replies of random commits after a random number of bytes, with and
// without a rival who writes meanwhile, and compares what Commit said with what is stored.
func TestCommitTellsTheTruthUnderLostReplies(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		link := f.NewLink()
		nc, err := nats.Connect("", link.Option(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		// Both parts reconnect, and nats.go keeps the timers of that in a pool of the process: so they share a bubble, and no
		// test outside of it reconnects.
		store, err := jetstore.Open(nc)
		if err != nil {
			t.Fatal(err)
		}
		w := lossyWorld{t: t, conn: nc, ours: store, rival: f.Store, link: link, said: map[string]int{}}
		rapid.Check(struct{ testing.TB }{t}, w.step) // rapid asks a *testing.T for its deadline, which a bubble forbids
		t.Log(w.said)
		if w.said["stored"] == 0 || w.said["conflict"] == 0 {
			t.Errorf("not every outcome came up: %v", w.said)
		}
		windowLosesNothing(t, w)
	})
}

type lossyWorld struct {
	t           *testing.T
	conn        *nats.Conn
	ours, rival *jetstore.Store
	link        *jetstoretest.Link
	run         int
	said        map[string]int
}

// step makes one commit of up to three keys and perhaps an event, under loss, beside a rival that replaces some of the keys,
// noting in its own value what it replaced.
func (w *lossyWorld) step(rt *rapid.T) {
	w.run++
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	keys := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(rt, "keys")]
	mine := fmt.Sprintf("ours-%d", w.run)
	changes, expect := make([]jetstore.Change, 0, 4), map[string]uint64{}
	for _, key := range keys {
		expect[key] = w.put(ctx, rt, key)
		changes = append(changes, change(w.key(key), mine, expect[key]))
	}
	witness := rapid.Bool().Draw(rt, "event")
	if witness {
		changes = append(changes, event(fmt.Sprintf("job.opened.q.x.%d", w.run)))
	}
	w.connected(ctx)
	w.link.LoseAfter(rapid.IntRange(0, 400).Draw(rt, "bytes"))
	heal := time.AfterFunc(time.Duration(rapid.IntRange(0, 12000).Draw(rt, "heal"))*time.Millisecond, w.link.Heal)
	defer heal.Stop()
	rivals := rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, len(keys), rapid.ID).Draw(rt, "rivals")
	done := make(chan map[string]string, 1)
	delay := time.Duration(rapid.IntRange(0, 3000).Draw(rt, "rival after")) * time.Millisecond
	if rapid.Bool().Draw(rt, "rival first") {
		done <- w.rivalry(ctx, rivals, 0)
	} else {
		go func() { done <- w.rivalry(ctx, rivals, delay) }()
	}
	revisions, err := w.ours.Commit(ctx, changes...)
	w.judge(ctx, rt, verdict{keys: keys, mine: mine, revisions: revisions, err: err, witness: witness, replaced: <-done})
	w.link.Heal()
}

// connected waits for the connection: a loss during its handshake would stop the bubble's time.
func (w *lossyWorld) connected(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // FlushWithContext refuses one without a deadline
	defer cancel()
	for w.conn.FlushWithContext(ctx) != nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
}

func (w *lossyWorld) key(name string) string { return fmt.Sprintf("job.run%d.%s", w.run, name) }

func (w *lossyWorld) put(ctx context.Context, rt *rapid.T, key string) uint64 {
	if !rapid.Bool().Draw(rt, "exists") {
		return 0
	}
	revisions, err := w.rival.Commit(ctx, change(w.key(key), "before", 0))
	if err != nil {
		rt.Fatal(err)
	}
	return revisions[0]
}

// rivalry replaces keys and returns which value it replaced in each.
func (w *lossyWorld) rivalry(ctx context.Context, keys []string, delay time.Duration) map[string]string {
	time.Sleep(delay)
	replaced := map[string]string{}
	for _, key := range keys {
		have, err := w.rival.Get(ctx, w.key(key))
		if err != nil && !errors.Is(err, jetstore.ErrNotFound) {
			w.t.Error(err)
		}
		if _, err := w.rival.Commit(ctx, change(w.key(key), "rival", have.Revision)); err == nil {
			replaced[key] = string(have.Value)
		}
	}
	return replaced
}

type verdict struct {
	keys      []string
	mine      string
	revisions []uint64
	err       error
	witness   bool
	replaced  map[string]string
}

// judge counts on how many of the keys our value stands or was replaced by the rival: all of them or none.
func (w *lossyWorld) judge(ctx context.Context, rt *rapid.T, v verdict) {
	stored := 0
	for i, key := range v.keys {
		have, err := w.rival.Get(ctx, w.key(key))
		if err != nil && !errors.Is(err, jetstore.ErrNotFound) {
			rt.Fatal(err)
		}
		standing := string(have.Value) == v.mine
		if standing && v.err == nil && v.revisions[i] != have.Revision {
			rt.Fatalf("the revision is %d, Commit said %d", have.Revision, v.revisions[i])
		}
		if standing || v.replaced[key] == v.mine {
			stored++
		}
	}
	if v.witness {
		_, err := w.rival.Last(ctx, jetstore.StreamJobs, fmt.Sprintf("batchbus.events.job.opened.q.x.%d", w.run))
		if (err == nil) != (stored > 0) {
			rt.Fatalf("the event is there: %t, its state: %t", err == nil, stored > 0)
		}
	}
	switch {
	case stored != 0 && stored != len(v.keys):
		rt.Fatalf("%d of %d changes were stored", stored, len(v.keys))
	case v.err == nil && stored == 0:
		rt.Fatal("Commit said stored, and it is not")
	case errors.Is(v.err, jetstore.ErrConflict) && stored > 0:
		rt.Fatalf("Commit said conflict, and it is stored: %v", v.err)
	case errors.Is(v.err, jetstore.ErrUnknown) && (v.witness || len(v.replaced) < len(v.keys)):
		rt.Fatalf("a trace was left and Commit said unknown: %v", v.err)
	case v.err != nil && !errors.Is(v.err, jetstore.ErrConflict) && !errors.Is(v.err, jetstore.ErrUnknown):
		rt.Fatal(v.err)
	}
	w.said[saidBy(v.err)]++
}

func saidBy(err error) string {
	switch {
	case err == nil:
		return "stored"
	case errors.Is(err, jetstore.ErrConflict):
		return "conflict"
	default:
		return "unknown"
	}
}
