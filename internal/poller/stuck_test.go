package poller_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/poller"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// P66, contract 9.10: a status that should pass in seconds does not.
func TestP66ABatchThatStandsStillSaysSinceWhenAndNeedsAttentionOnce(t *testing.T) {
	t.Parallel()
	for _, status := range []string{doubleword.StatusValidating, doubleword.StatusFinalizing} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			b, since := submitted(), start().Add(time.Minute)
			for minutes := range 300 {
				now := since.Add(time.Duration(minutes) * time.Minute)
				kinds := poller.Decide(b, said(status, 0, 0), now, pace())
				if b.State != events.BatchSubmitted || !strings.Contains(b.Why, status+" since "+since.Format(time.RFC3339)) {
					t.Fatalf("after %d minutes: %s, why %q", minutes, b.State, b.Why)
				}
				if told := slices.Contains(kinds, events.BatchNeedsAttention); told != (minutes == 120) {
					t.Errorf("after %d minutes: %v", minutes, kinds)
				}
			}
			if b.Hold == nil || b.Hold.Code != events.HoldNeedsAttention || !strings.Contains(b.Hold.Message, status) {
				t.Errorf("hold %+v", b.Hold)
			}
			kinds := poller.Decide(b, said("in_progress", 1, 0), since.Add(10*time.Hour), pace())
			if b.Hold != nil || !slices.Contains(kinds, events.BatchResumed) {
				t.Errorf("when it moves again: hold %+v, %v", b.Hold, kinds)
			}
		})
	}
}

func TestAColdModelIsNotStuck(t *testing.T) {
	t.Parallel()
	b := submitted()
	for hour := range 24 {
		kinds := poller.Decide(b, said("in_progress", 0, 0), start().Add(time.Duration(hour)*time.Hour), pace())
		if hour > 0 && kinds != nil || b.Hold != nil {
			t.Errorf("after %d hours: %v, hold %+v", hour, kinds, b.Hold)
		}
	}
}

// P68: whoever looks sees the number of tries, the last error and the next try.
func TestP68ABatchInDoubtShowsTriesLastErrorAndNextTry(t *testing.T) {
	t.Parallel()
	b, now := submitted(), start()
	for try := 1; try <= 3; try++ {
		now = now.Add(time.Minute)
		poller.DecideUnknown(b, errors.New("GET /batches: status 502"), now, pace())
		if b.Unanswered != try || !strings.Contains(b.Why, fmt.Sprintf("(try %d)", try)) || !strings.Contains(b.LastError, "502") {
			t.Errorf("try %d: %+v", try, b)
		}
		if b.NextTryAt == nil || !b.NextTryAt.Equal(*b.NextPollAt) || !b.NextTryAt.After(now) {
			t.Errorf("try %d: next try %v, next poll %v", try, b.NextTryAt, b.NextPollAt)
		}
	}
	poller.Decide(b, said("in_progress", 1, 0), now.Add(time.Minute), pace())
	if b.Unanswered != 0 || b.NextTryAt != nil || b.LastError != "" {
		t.Errorf("afterwards: %+v", b)
	}
	poller.DecideUnknown(b, errors.New("GET /batches: status 502"), now.Add(2*time.Minute), pace())
	if b.Unanswered != 1 {
		t.Errorf("another doubt begins with try %d", b.Unanswered)
	}
}

// Contract 9.11: expired_at stands on any batch that is looked at after its window.
func TestExpiredAtOnASuccessfulBatchIsNoFailure(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.store("1", func(b *events.Batch) { b.State, b.ProviderBatchID = events.BatchSubmitted, "remote" })
		past := time.Now().Add(-time.Hour).Unix()
		w.talkTo(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(rw, `{"data":[{"id":"remote","status":"completed","request_counts":{"total":1,"completed":1,"failed":0},
				"expires_at":%d,"expired_at":%d,"completed_at":%d}],"has_more":false}`, past, past, past-60)
		}))
		w.during(time.Minute)
		b := w.batch("1")
		if b.State != events.BatchFinished || b.Status != "completed" || b.Overdue || b.Hold != nil {
			t.Errorf("%+v", b.Batch)
		}
		w.want("overdue", w.told(events.BatchOverdue), map[string]int{})
	})
}

// P67: past its window a batch is overdue, and nothing of it is sent again.
func TestP67ABatchInProgressForEverIsOverdueOnceAndNothingIsSentAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.submit("1")
		id := w.batch("1").ProviderBatchID
		expires := time.Now().Add(2 * time.Hour)
		lists := 0
		w.talkTo(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			lists++
			fmt.Fprintf(rw, `{"data":[{"id":%q,"status":"in_progress","request_counts":{"total":1,"completed":0,"failed":0},"expires_at":%d}]}`, id, expires.Unix())
		}))
		c := w.config()
		c.Floor = 2 * time.Minute
		p := w.run(c)
		pass(2*time.Hour + 5*time.Minute)
		w.want("overdue, within minutes of the end of the window", w.told(events.BatchOverdue), map[string]int{"1": 1})
		before := lists
		pass(5 * time.Hour)
		p.end()
		w.want("overdue", w.told(events.BatchOverdue), map[string]int{"1": 1})
		w.want("state", w.batch("1").State, events.BatchSubmitted)
		if n := lists - before; n > 40 {
			t.Errorf("%d lists in five hours past the window", n)
		}
	})
}

// An unknown status is told once, with its word, and the batch is followed on (contract 0 and design.md 5.5).
func TestAnUnknownStatusIsToldOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.store("1", func(b *events.Batch) { b.State, b.ProviderBatchID = events.BatchSubmitted, "remote" })
		w.talkTo(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(rw, `{"data":[{"id":"remote","status":"pondering","request_counts":{"total":1,"completed":0,"failed":0}}]}`)
		}))
		w.during(2 * time.Hour)
		b := w.batch("1")
		if b.State != events.BatchSubmitted || !strings.Contains(b.Why, `"pondering"`) {
			t.Errorf("%s, why %q", b.State, b.Why)
		}
		w.want("told", w.told(events.BatchProgress), map[string]int{"1": 1})
	})
}
