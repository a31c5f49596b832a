package jetstore_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// answers counts what the hook hears.
type answers struct {
	mu    sync.Mutex
	heard map[string]int
}

func (a *answers) hooks() jetstore.Hooks {
	return jetstore.Hooks{Answered: func(answer jetstore.Answer, delivered int) {
		a.mu.Lock()
		defer a.mu.Unlock()
		key := string(answer)
		if delivered > 1 {
			key += " again"
		}
		a.heard[key]++
	}}
}

func (a *answers) want(t *testing.T, want map[string]int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !maps.Equal(a.heard, want) {
		t.Errorf("heard %v, want %v", a.heard, want)
	}
}

func TestEveryAnswerIsHeardOfOnce(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		for _, job := range []string{"done", "late", "refused"} {
			request(t, f, job)
		}
		a := &answers{heard: make(map[string]int)}
		stop := each(t, f, jetstore.EachOptions{Hooks: a.hooks()}, func(_ context.Context, d jetstore.Delivery) error {
			switch {
			case string(d.Data) == "late" && d.Delivered == 1:
				return jetstore.Later(time.Second, nil)
			case string(d.Data) == "refused":
				return jetstore.Refuse(&nats.Msg{Subject: "batchbus.deadletters.q.j.s", Data: []byte("why")}, "bad")
			}
			return nil
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		a.want(t, map[string]int{"ack": 1, "nak": 1, "ack again": 1, "term": 1})
	})
}

func TestAnswersOfTheHandlerItselfAreHeardOfToo(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		request(t, f, "a")
		request(t, f, "b")
		a := &answers{heard: make(map[string]int)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- f.Store.Batches(ctx, jetstore.StreamRequests, jetstore.ConsumerIngest, jetstore.BatchOptions{Hooks: a.hooks()},
				func(ctx context.Context, batch []jetstore.Delivery) error {
					for _, d := range batch {
						if d.Delivered > 1 {
							continue // acked by the nil below
						}
						err := d.AckSync(ctx)
						if string(d.Data) == "b" {
							err = errors.Join(err, d.Ack()) // the second answer counts for nothing
						}
						if string(d.Data) == "b" && err == nil {
							t.Error("a second answer was sent")
						}
					}
					return nil
				})
		}()
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		a.want(t, map[string]int{"ack": 2})
	})
}
