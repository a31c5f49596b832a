package jetstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

const gib = 1 << 30

func TestSetup(t *testing.T) {
	t.Parallel()

	t.Run("a second setup and a check find nothing to do", func(t *testing.T) {
		t.Parallel()
		f := jetstoretest.Start(t)
		settings := jetstore.Settings{MaxStore: 4 * gib}
		if err := jetstore.Setup(t.Context(), f.Store.JetStream(), settings); err != nil {
			t.Error(err)
		}
		if err := jetstore.Check(t.Context(), f.Store.JetStream(), settings); err != nil {
			t.Error(err)
		}
	})

	t.Run("drift is listed field by field and the live stream stays as it is", func(t *testing.T) {
		t.Parallel()
		f := jetstoretest.Start(t)
		js := f.Store.JetStream()
		config := streamConfig(t, js, jetstore.StreamResults)
		config.MaxAge, config.AllowAtomicPublish = time.Hour, false
		if _, err := js.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		err := jetstore.Setup(t.Context(), js, jetstore.Settings{MaxStore: 4 * gib, AckWait: time.Minute})
		var drift *jetstore.DriftError
		if !errors.As(err, &drift) {
			t.Fatalf("got %v, want a DriftError", err)
		}
		for _, want := range []jetstore.Difference{
			{Name: jetstore.StreamResults, Field: "max_age", Want: "720h0m0s", Have: "1h0m0s"},
			{Name: jetstore.StreamResults, Field: "allow_atomic", Want: "true", Have: "false"},
			{Name: jetstore.StreamRequests + "/ingest", Field: "ack_wait", Want: "1m0s", Have: "30s"},
		} {
			if !slices.Contains(drift.Differences, want) {
				t.Errorf("%v is not in %v", want, drift)
			}
		}
		if len(drift.Differences) != 2+5 { // and every consumer's AckWait
			t.Errorf("got %d differences: %v", len(drift.Differences), drift)
		}
		if !strings.Contains(drift.Error(), "max_age is 1h0m0s, want 720h0m0s") {
			t.Errorf("the text does not say it: %v", drift)
		}
		if got := streamConfig(t, js, jetstore.StreamResults).MaxAge; got != time.Hour {
			t.Errorf("the stream was changed to MaxAge %s", got)
		}
	})

	t.Run("sizes of existing streams are kept when the settings say so", func(t *testing.T) {
		t.Parallel()
		f := jetstoretest.Start(t)
		settings := jetstore.Settings{MaxStore: 3 * gib}
		if err := jetstore.Setup(t.Context(), f.Store.JetStream(), settings); err == nil {
			t.Error("other sizes are no drift")
		}
		settings.KeepSizes = true
		if err := jetstore.Setup(t.Context(), f.Store.JetStream(), settings); err != nil {
			t.Error(err)
		}
	})

	t.Run("a check names what is missing and does not make it", func(t *testing.T) {
		t.Parallel()
		f := jetstoretest.Start(t)
		js := f.Store.JetStream()
		if err := js.DeleteStream(t.Context(), jetstore.StreamTimers); err != nil {
			t.Fatal(err)
		}
		if err := js.DeleteConsumer(t.Context(), jetstore.StreamRows, jetstore.ConsumerPlanner); err != nil {
			t.Fatal(err)
		}
		err := jetstore.Check(t.Context(), js, jetstore.Settings{MaxStore: 4 * gib})
		var drift *jetstore.DriftError
		if !errors.As(err, &drift) || len(drift.Differences) != 3 {
			t.Fatalf("got %v, want a DriftError about a stream and two consumers", err)
		}
		if _, err := js.Stream(t.Context(), jetstore.StreamTimers); !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Errorf("the check made the stream: %v", err)
		}
	})

	t.Run("buckets are what nats.go binds to", func(t *testing.T) {
		t.Parallel()
		f := jetstoretest.Start(t)
		for _, bucket := range []string{jetstore.BucketJobs, jetstore.BucketQueues} {
			kv, err := f.Store.JetStream().KeyValue(t.Context(), bucket)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := kv.PutString(t.Context(), "budget.default", "x"); err != nil {
				t.Error(err)
			}
		}
	})
}

func streamConfig(t *testing.T, js jetstream.JetStream, name string) jetstream.StreamConfig {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().Config
}
