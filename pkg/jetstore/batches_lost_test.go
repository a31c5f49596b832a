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
