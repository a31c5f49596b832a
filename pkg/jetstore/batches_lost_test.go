package jetstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestWhatWasFetchedIsHandledWhenTheConsumerIsLostBeforeTheBatchIsFull(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if _, err := f.Store.Publish(ctx, &nats.Msg{Subject: "batchbus.requests.default.j1", Data: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	go func() { // while the batch waits for more
		for {
			consumer, err := f.Store.JetStream().Consumer(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest)
			if err != nil {
				return // ctx has ended: the handler is not called
			}
			if consumer.CachedInfo().NumAckPending == 1 {
				_ = f.Store.JetStream().DeleteConsumer(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest) // as above
				return
			}
		}
	}()
	handled := 0
	o := jetstore.BatchOptions{MaxWait: time.Minute}
	if err := f.Store.Batches(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest, o, func(_ context.Context, batch []jetstore.Delivery) error {
		handled += len(batch)
		stop()
		return nil
	}); err != nil || handled != 1 {
		t.Errorf("%d messages handled, %v", handled, err)
	}
}

func TestABatchOutlivesTheConsumerThatFailsBehindIt(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	request(t, f, "first")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	handled := make(chan int, 1)
	done := make(chan error, 1)
	go func() {
		done <- f.Store.Batches(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest, jetstore.BatchOptions{MaxWait: time.Minute},
			func(_ context.Context, batch []jetstore.Delivery) error {
				handled <- len(batch)
				return nil
			})
	}()
	for { // until the first message is there and a second pull waits for more
		consumer, err := f.Store.JetStream().Consumer(t.Context(), jetstore.StreamRequests, jetstore.ConsumerIngest)
		if err != nil {
			t.Fatal(err)
		}
		if info := consumer.CachedInfo(); info.NumAckPending == 1 && info.NumWaiting == 1 {
			break
		}
	}
	if err := f.Store.JetStream().DeleteConsumer(t.Context(), jetstore.StreamRequests, jetstore.ConsumerIngest); err != nil {
		t.Fatal(err)
	}
	if n := <-handled; n != 1 {
		t.Errorf("a batch of %d", n)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAConfirmationThatGotLostIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		link := f.NewLink()
		nc, err := nats.Connect("", link.Option(), nats.NoReconnect())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		store, err := jetstore.Open(nc)
		if err != nil {
			t.Fatal(err)
		}
		request(t, f, "job")
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan time.Duration, 1)
		done := make(chan error, 1)
		go func() {
			done <- store.Batches(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest, jetstore.BatchOptions{},
				func(ctx context.Context, batch []jetstore.Delivery) error {
					ctx, cancel := context.WithTimeout(ctx, time.Minute)
					defer cancel()
					link.LoseAfter(0)
					began := time.Now()
					if err := batch[0].AckSync(ctx); err == nil {
						t.Error("a confirmation came")
					}
					waited <- time.Since(began)
					return nil
				})
		}()
		if w := <-waited; w > 5*time.Second {
			t.Errorf("waited %s", w)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
