package poller_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// D12, contract 9.16: an operator's retry makes the provider run a batch again that is settled here. It is said once; nothing is sent for it.
func TestABatchThatIsSettledHereAndRunsAgainIsToldOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.store("1", func(b *events.Batch) { b.State, b.ProviderBatchID = events.BatchSettled, "again" })
		w.store("2", func(b *events.Batch) { b.State, b.ProviderBatchID = events.BatchSubmitted, "runs" })
		w.store("3", func(b *events.Batch) { b.State, b.ProviderBatchID = events.BatchSettled, "over" })
		one := func(id, n, status string) string {
			return fmt.Sprintf(`{"id":%q,"status":%q,"created_at":%d,"metadata":{"batchbus":"%s/%s/%s/%s/"},"request_counts":{"total":2,"completed":1,"failed":0}}`,
				id, status, time.Now().Unix(), busID, queue, job, n)
		}
		lists := 0
		w.talkTo(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			lists++
			fmt.Fprintf(rw, `{"data":[%s,%s,%s]}`, one("again", "1", "in_progress"), one("runs", "2", "in_progress"), one("over", "3", "cancelled"))
		}))
		w.during(20 * time.Minute)
		w.during(20 * time.Minute)
		if lists < 10 {
			t.Fatalf("%d lists show nothing", lists)
		}
		w.want("told", w.told(events.BatchNeedsAttention), map[string]int{"1": 1})
		w.want("twins", w.told(events.BatchTwin), map[string]int{})
		if b := w.batch("1"); b.State != events.BatchSettled || b.Hold != nil {
			t.Errorf("%+v", b.Batch)
		}
	})
}

func TestABatchThatTheListShowsToHaveEndedIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		later := time.Now().Add(3 * time.Hour)
		w.submitAs(func(b *events.Batch) {
			if b.N == "2" {
				b.NextPollAt, b.Status = &later, "in_progress"
			}
		}, "1", "2")
		w.during(2 * time.Hour)
		w.want("finished", w.told(events.BatchIsFinished), map[string]int{"1": 1, "2": 1})
	})
}

// Nothing of the key is live here, so no poll reads its list: it is read once an hour all the same, for a day.
func TestABatchThatIsSettledHereAndRunsAgainIsToldThoughNothingElseIsLive(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		made := time.Now()
		w.store("1", func(b *events.Batch) { b.State, b.ProviderBatchID, b.SubmittedAt = events.BatchSettled, "again", &made })
		var lists, newer int
		status := "completed"
		w.talkTo(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/batches" || r.Method != http.MethodGet {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			lists++
			if r.URL.Query().Get("after") == "" { // a page of younger ones that have nothing to do with us
				newer++
				page := make([]string, 100)
				for i := range page {
					page[i] = fmt.Sprintf(`{"id":"n%d","status":"completed","created_at":%d}`, i, made.Add(time.Minute).Unix())
				}
				fmt.Fprintf(rw, `{"has_more":true,"last_id":"n99","data":[%s]}`, strings.Join(page, ","))
				return
			}
			fmt.Fprintf(rw, `{"data":[{"id":"again","status":%q,"created_at":%d,"metadata":{"batchbus":"%s/%s/%s/1/"},"request_counts":{"total":2,"completed":1,"failed":0}}]}`,
				status, made.Unix(), busID, queue, job)
		}))
		w.during(3 * time.Hour)
		w.want("told before", w.told(events.BatchNeedsAttention), map[string]int{})
		status = "in_progress"
		w.during(3 * time.Hour)
		w.want("told", w.told(events.BatchNeedsAttention), map[string]int{"1": 1})
		if newer < 5 || newer > 10 || lists != 2*newer {
			t.Errorf("%d lists with %d calls in six hours, and at each start", newer, lists)
		}
		w.during(20 * time.Hour)
		day := lists
		w.during(10 * time.Hour)
		if lists != day {
			t.Errorf("%d calls for a batch that was settled more than a day ago", lists-day)
		}
	})
}
