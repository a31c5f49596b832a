package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// setState puts the job's state in place of the one before it, if there is one, and tells of it as a service does.
func setState(t *testing.T, f *jetstoretest.Fixture, state events.JobState) {
	t.Helper()
	key := events.JobKey(queue, job)
	entry, err := f.Store.Get(t.Context(), key)
	if err != nil && !errors.Is(err, jetstore.ErrNotFound) {
		t.Fatal(err)
	}
	j := events.Job{Queue: queue, Job: job, State: state, Policy: events.DefaultPolicy()}
	change := jetstore.Change{Subject: jetstore.KeySubject(key), Value: j.Encode(), Expect: entry.Revision}
	if _, err := f.Store.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if state != events.JobCompleted {
		return
	}
	if err := f.Conn.PublishMsg(&nats.Msg{Subject: events.EventSubject(events.JobDone, queue, job, "0-1")}); err != nil {
		t.Fatal(err)
	}
}

func TestAJobIsFollowedFromBeforeItOpensToItsEnd(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		got, ended := make(chan string, 9), make(chan error, 1)
		go func() {
			defer close(got)
			for r, err := range client.New(f.Store).Follow(t.Context(), queue, job, 0) {
				if err != nil {
					ended <- err
					return
				}
				got <- r.CustomID
			}
			ended <- nil
		}()
		synctest.Wait()
		setState(t, f, events.JobOpen)
		for _, id := range []string{"a", "b"} {
			began := time.Now()
			answer(t, f, id, 1)
			if next := <-got; next != id {
				t.Errorf("got %q, want %q", next, id)
			}
			if waited := time.Since(began); waited > time.Second {
				t.Errorf("it took %s to be told of %s", waited, id)
			}
		}
		answerIn(t, f, "another", "c", 1)
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("it ended before the job: %v", err)
		default:
		}
		answer(t, f, "d", 9<<20)
		setState(t, f, events.JobCompleted)
		if last, more := <-got, <-got; last != "d" || more != "" {
			t.Errorf("at the end came %q %q", last, more)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestFollowingEndsWithItsContextAndGoesOnFromWhereItWas(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		c := client.New(f.Store)
		answer(t, f, "a", 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var from uint64
		var ended error
		for r, err := range c.Follow(ctx, queue, job, 0) {
			if err == nil {
				from = r.Sequence + 1
			}
			ended = err
		}
		if from == 0 || !errors.Is(ended, context.DeadlineExceeded) {
			t.Errorf("from %d, ended with %v", from, ended)
		}
		answer(t, f, "b", 1)
		setState(t, f, events.JobCompleted)
		for r, err := range c.Follow(t.Context(), queue, job, from) {
			if err != nil || r.CustomID != "b" {
				t.Errorf("got %q, %v", r.CustomID, err)
			}
		}
		for _, err := range c.Follow(t.Context(), "no queue", job, 0) {
			if err == nil {
				t.Error("a bad name is followed")
			}
		}
		if n := f.Conn.NumSubscriptions(); n > 2 { // nats.go's own, for replies
			t.Errorf("%d subscriptions are left", n)
		}
	})
}
