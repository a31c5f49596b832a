package jetstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func request(t *testing.T, f *jetstoretest.Fixture, job string) {
	t.Helper()
	if _, err := f.Store.Publish(t.Context(), &nats.Msg{Subject: "batchbus.requests.q." + job, Data: []byte(job)}); err != nil {
		t.Fatal(err)
	}
}

// each runs Each on the ingest consumer until stop is called, which returns its error.
func each(t *testing.T, f *jetstoretest.Fixture, o jetstore.EachOptions, handle func(context.Context, jetstore.Delivery) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Store.Each(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest, o, handle) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("a shutdown is no failure, got %v", err)
		}
	}
}

func left(t *testing.T, f *jetstoretest.Fixture) int {
	t.Helper()
	counts, err := f.Store.SubjectCounts(t.Context(), jetstore.StreamRequests, ">")
	if err != nil {
		t.Fatal(err)
	}
	return len(counts)
}

func TestEachMapsOutcomes(t *testing.T) {
	t.Parallel()
	type delivery struct {
		after time.Duration
		nth   int
	}
	for _, c := range []struct {
		name    string
		outcome func(nth int) error
		want    []time.Duration // of the deliveries, since the first
		errors  int
		letter  bool
	}{
		{"nil acks", func(int) error { return nil }, []time.Duration{0}, 0, false},
		{"later comes again after its delay and is no failure", func(nth int) error {
			if nth < 3 {
				return jetstore.Later(time.Hour, nil)
			}
			return nil
		}, []time.Duration{0, time.Hour, 2 * time.Hour}, 0, false},
		{"an error comes again after 1 s, 2 s, 4 s and is reported", func(nth int) error {
			if nth < 4 {
				return errors.New("broken")
			}
			return nil
		}, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, 3, false},
		{"a refusal stores a dead letter and ends the message", func(int) error {
			return jetstore.Refuse(&nats.Msg{Subject: "batchbus.deadletters.q.j.s", Data: []byte("why")}, "bad")
		}, []time.Duration{0}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
				request(t, f, "j")
				var mu sync.Mutex
				var got []delivery
				var failures atomic.Int32
				start := time.Now()
				o := jetstore.EachOptions{Hooks: jetstore.Hooks{OnError: func(string, error) { failures.Add(1) }}}
				stop := each(t, f, o, func(_ context.Context, d jetstore.Delivery) error {
					mu.Lock()
					defer mu.Unlock()
					got = append(got, delivery{time.Since(start).Round(time.Second), d.Delivered})
					return c.outcome(d.Delivered)
				})
				time.Sleep(3 * time.Hour)
				synctest.Wait()
				stop()
				var want []delivery
				for i, after := range c.want {
					want = append(want, delivery{after, i + 1})
				}
				if !slices.Equal(got, want) || int(failures.Load()) != c.errors {
					t.Errorf("deliveries %v, want %v; %d errors, want %d", got, want, failures.Load(), c.errors)
				}
				if n := left(t, f); n != 0 {
					t.Errorf("%d messages are left", n)
				}
				_, err := f.Store.Last(t.Context(), jetstore.StreamDeadletters, "batchbus.deadletters.q.j.s")
				if (err == nil) != c.letter {
					t.Errorf("the dead letter: %v", err)
				}
			})
		})
	}
}

func TestEachNeverEndsAMessageWithoutItsDeadLetter(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		request(t, f, "j")
		var failures atomic.Int32
		o := jetstore.EachOptions{Hooks: jetstore.Hooks{OnError: func(string, error) { failures.Add(1) }}}
		stop := each(t, f, o, func(context.Context, jetstore.Delivery) error {
			return jetstore.Refuse(&nats.Msg{Subject: "batchbus.deadletters.q.j.s", Data: make([]byte, 9<<20)}, "does not fit")
		})
		time.Sleep(time.Minute)
		stop()
		if left(t, f) != 1 || failures.Load() == 0 {
			t.Errorf("%d messages left, %d errors", left(t, f), failures.Load())
		}
	})
}

func TestEachKeepsALongMessage(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		request(t, f, "j")
		var calls atomic.Int32
		stop := each(t, f, jetstore.EachOptions{Workers: 4}, func(context.Context, jetstore.Delivery) error {
			calls.Add(1)
			time.Sleep(10 * time.Minute) // AckWait is 30 s
			return nil
		})
		time.Sleep(15 * time.Minute)
		stop()
		if calls.Load() != 1 || left(t, f) != 0 {
			t.Errorf("handled %d times, %d left", calls.Load(), left(t, f))
		}
	})
}

func TestEachDrains(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		request(t, f, "finishes")
		request(t, f, "hangs")
		started := make(chan struct{}, 2)
		var finished atomic.Int32
		o := jetstore.EachOptions{Workers: 2, DrainTimeout: 10 * time.Second}
		stop := each(t, f, o, func(ctx context.Context, d jetstore.Delivery) error {
			started <- struct{}{}
			if string(d.Data) == "hangs" {
				<-ctx.Done()
				return ctx.Err()
			}
			time.Sleep(5 * time.Second)
			finished.Add(1)
			return ctx.Err()
		})
		<-started
		<-started
		begin := time.Now()
		stop()
		if took := time.Since(begin).Round(time.Second); took != 10*time.Second || finished.Load() != 1 {
			t.Errorf("drained in %s, %d finished", took, finished.Load())
		}
		synctest.Wait()
		if n := left(t, f); n != 1 {
			t.Errorf("%d messages are left, want the one whose handler was cut", n)
		}
	})
}

func TestEachBindsAnew(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		handled := make(chan string, 8)
		var beats atomic.Int32
		o := jetstore.EachOptions{Hooks: jetstore.Hooks{Beat: func() { beats.Add(1) }}}
		stop := each(t, f, o, func(_ context.Context, d jetstore.Delivery) error {
			handled <- string(d.Data)
			return nil
		})
		request(t, f, "before")
		<-handled
		synctest.Wait() // for the ack
		if err := f.Store.JetStream().DeleteConsumer(t.Context(), jetstore.StreamRequests, jetstore.ConsumerIngest); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := jetstore.Setup(t.Context(), f.Store.JetStream(), jetstore.Settings{MaxStore: 4 * gib}); err != nil {
			t.Fatal(err)
		}
		request(t, f, "after")
		if got := <-handled; got != "after" {
			t.Errorf("got %q", got)
		}
		before := beats.Load()
		time.Sleep(time.Minute)
		if beats.Load() < before+6 {
			t.Errorf("%d beats in a quiet minute", beats.Load()-before)
		}
		stop()
	})
}

func TestBatches(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		for i := range 25 {
			request(t, f, fmt.Sprintf("j%d", i))
		}
		var mu sync.Mutex
		var sizes []int
		seen := map[string][]time.Duration{}
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		handle := func(_ context.Context, batch []jetstore.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			sizes = append(sizes, len(batch))
			failed := false
			for _, d := range batch {
				seen[string(d.Data)] = append(seen[string(d.Data)], time.Since(start).Round(time.Second))
				if string(d.Data) == "j3" && d.Delivered == 1 {
					failed = true // left unanswered
					continue
				}
				if err := d.Ack(); err != nil {
					t.Error(err)
				}
			}
			if failed {
				return errors.New("j3 is not stored")
			}
			return nil
		}
		go func() {
			done <- f.Store.Batches(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest, jetstore.BatchOptions{MaxMessages: 10}, handle)
		}()
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if !slices.Equal(sizes, []int{10, 10, 5, 1}) {
			t.Errorf("batches of %v", sizes)
		}
		if got := seen["j3"]; len(got) != 2 || got[1]-got[0] != time.Second || len(seen["j4"]) != 1 || len(seen) != 25 {
			t.Errorf("j3 at %v, j4 at %v, %d jobs", got, seen["j4"], len(seen))
		}
		if n := left(t, f); n != 0 {
			t.Errorf("%d messages are left", n)
		}
	})
}
