package jetstore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestSetTick(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		if err := f.Store.SetTick(t.Context(), "main", 1500*time.Millisecond); err == nil {
			t.Error("a tick of one and a half seconds was taken")
		}
		var ticks atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- f.Store.Each(ctx, jetstore.StreamTimers, jetstore.ConsumerPoller, jetstore.EachOptions{},
				func(_ context.Context, d jetstore.Delivery) error {
					if d.Subject != "batchbus.timers.due.main" {
						t.Errorf("a tick on %s", d.Subject)
					}
					ticks.Add(1)
					return nil
				})
		}()
		for range 20 { // every 3 s: were it not idempotent, a tick of 10 s would never come
			if err := f.Store.SetTick(t.Context(), "main", 10*time.Second); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
		}
		if n := ticks.Load(); n < 5 || n > 6 {
			t.Errorf("%d ticks in a minute", n)
		}
		if err := f.Store.ClearTick(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		before := ticks.Load()
		time.Sleep(time.Minute)
		if ticks.Load() != before {
			t.Error("it goes on after it was cleared")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
