package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Bucket is the KV bucket of the receipts.
const Bucket = "workflow_receipts"

// KV is [Receipts] in a bucket of the bus, so that the workflow can be resumed from any machine.
type KV struct{ bucket jetstream.KeyValue }

// OpenKV opens the bucket, and makes it if there is none, with as many replicas as the results have. It is idempotent.
func OpenKV(ctx context.Context, js jetstream.JetStream) (*KV, error) {
	bucket, err := js.KeyValue(ctx, Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = makeBucket(ctx, js)
	}
	if err != nil {
		return nil, fmt.Errorf("open receipts: %w", err)
	}
	return &KV{bucket}, nil
}

func makeBucket(ctx context.Context, js jetstream.JetStream) (jetstream.KeyValue, error) {
	results, err := js.Stream(ctx, jetstore.StreamResults)
	if err != nil {
		return nil, fmt.Errorf("look at results: %w", err)
	}
	return js.CreateKeyValue(ctx, jetstream.KeyValueConfig{ //nolint:wrapcheck // its caller says what was opened
		Bucket: Bucket, Description: "Receipts of examples/workflow", Replicas: results.CachedInfo().Config.Replicas,
	})
}

// Get returns what stands under the key, if anything.
func (s *KV) Get(ctx context.Context, key string) ([]byte, bool, error) {
	entry, err := s.bucket.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("get receipt %s: %w", key, err)
	}
	return entry.Value(), true, nil
}

// Once stores the value unless something stands under the key, and returns what stands there then.
func (s *KV) Once(ctx context.Context, key string, value []byte) ([]byte, error) {
	_, err := s.bucket.Create(ctx, key, value)
	switch {
	case err == nil:
		return value, nil
	case !errors.Is(err, jetstream.ErrKeyExists):
		return nil, fmt.Errorf("create receipt %s: %w", key, err)
	}
	for tick := time.NewTicker(50 * time.Millisecond); ; { // a replica that lags does not have it yet
		stands, found, err := s.Get(ctx, key)
		if found || err != nil {
			tick.Stop()
			return stands, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return nil, ctx.Err()
		}
	}
}
