package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// answer stores a row's result, whose response is a string of the given size, and returns the response.
func answer(t *testing.T, f *jetstoretest.Fixture, customID string, size int) string {
	t.Helper()
	return answerIn(t, f, job, customID, size)
}

func answerIn(t *testing.T, f *jetstoretest.Fixture, job, customID string, size int) string {
	t.Helper()
	r := events.Result{
		CustomID: customID, Queue: queue, Job: job, Outcome: events.Succeeded, Response: json.RawMessage(`"` + strings.Repeat("x", size) + `"`),
	}
	bare := r
	bare.Response = nil
	put(t, f, jetstore.StreamResults, events.ResultSubject(queue, job, customID), r.Append(nil), bare.Append(nil))
	return string(r.Response)
}

func TestAResultIsAwaitedByItsCustomID(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		customID string
		size     int
	}{
		"an id that is its subject's token": {"case-1", 10},
		"an id of another kind":             {"* case.1 > é", 10},
		"an answer too big for a message":   {"big", 9 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
				t.Helper()
				type awaited struct {
					result client.Result
					err    error
				}
				got := make(chan awaited, 1)
				go func() {
					result, err := client.New(f.Store).Await(t.Context(), queue, job, c.customID)
					got <- awaited{result, err}
				}()
				synctest.Wait()
				answer(t, f, "another", 1)
				synctest.Wait()
				select {
				case early := <-got:
					t.Fatalf("returned before the result was there: %+v", early)
				default:
				}
				began := time.Now()
				want := answer(t, f, c.customID, c.size)
				end := <-got
				if end.err != nil || end.result.CustomID != c.customID || string(end.result.Response) != want || end.result.Sequence != 2 {
					t.Errorf("got %.200v, %v", end.result, end.err)
				}
				if waited := time.Since(began); waited > time.Second {
					t.Errorf("it took %s to be told of", waited)
				}
				again, err := client.New(f.Store).Await(t.Context(), queue, job, c.customID)
				if err != nil || string(again.Response) != want {
					t.Errorf("asked again: %.200v, %v", again, err)
				}
			})
		})
	}
}

func TestAnAwaitEndsWithItsContextAndSaysWhatForItWaited(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := client.New(f.Store).Await(ctx, queue, job, "never")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"never"`) {
			t.Errorf("got %v", err)
		}
		if _, err = client.New(f.Store).Await(t.Context(), "no queue", job, "a"); err == nil {
			t.Error("a bad name is awaited")
		}
		if n := f.Conn.NumSubscriptions(); n > 2 { // nats.go's own, for replies
			t.Errorf("%d subscriptions are left", n)
		}
	})
}

func TestAMessageThatTheStreamRefusesIsNoResult(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		got := make(chan error, 1)
		go func() {
			_, err := client.New(f.Store).Await(t.Context(), queue, job, "late")
			got <- err
		}()
		synctest.Wait()
		stream, err := f.Store.JetStream().Stream(t.Context(), jetstore.StreamResults)
		if err != nil {
			t.Fatal(err)
		}
		config := stream.CachedInfo().Config
		config.MaxMsgSize = 8
		if _, err := f.Store.JetStream().UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		if err := f.Conn.Publish(events.ResultSubject(queue, job, "late"), []byte("refused for its size")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		config.MaxMsgSize = -1
		if _, err := f.Store.JetStream().UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-got:
			t.Fatalf("returned with %v before the result was there", err)
		default:
		}
		answer(t, f, "late", 1)
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
}

func TestARowIsAwaitedWithoutItsJob(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		c := client.New(f.Store)
		answerIn(t, f, "auto-1", "case 1", 1)
		<-time.NewTimer(time.Hour).C // of the bubble's clock
		since := time.Now()
		first, err := c.Await(t.Context(), queue, client.AnyJob, "case 1")
		if err != nil || first.Job != "auto-1" {
			t.Errorf("any result will do: %+v, %v", first, err)
		}
		got := make(chan client.Result, 1)
		go func() {
			result, err := c.AwaitRow(t.Context(), queue, "case 1", since)
			if err != nil {
				t.Error(err)
			}
			got <- result
		}()
		synctest.Wait()
		select {
		case early := <-got:
			t.Fatalf("an older result was taken: %+v", early)
		default:
		}
		answerIn(t, f, "auto-2", "case 1", 9<<20)
		if second := <-got; second.Job != "auto-2" || len(second.Response) != 9<<20+2 {
			t.Errorf("got %.200v", second)
		}
		for job, want := range map[string]string{client.AnyJob: "auto-1 auto-2 ", "auto-2": "auto-2 ", "auto-3": ""} {
			var jobs strings.Builder
			for r, err := range c.RowResults(t.Context(), queue, job, "case 1") {
				if err != nil {
					t.Fatal(err)
				}
				jobs.WriteString(r.Job + " ")
			}
			if jobs.String() != want {
				t.Errorf("results in job %q: %s", job, jobs.String())
			}
		}
	})
}
