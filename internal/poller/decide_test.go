package poller_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/batchbus/batchbus/internal/poller"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// start is when the batches of these tests were submitted.
func start() time.Time { return time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC) }

func pace() poller.Pace {
	return poller.Pace{Floor: 30 * time.Second, Ceiling: 10 * time.Minute, Patience: 15 * time.Minute, Stuck: 2 * time.Hour}
}

func submitted() *events.Batch {
	at := start()
	return &events.Batch{
		Queue: "default", Job: "nightly", N: "1", State: events.BatchSubmitted, SinceAt: at, SubmittedAt: &at, Rows: 10,
		ProviderBatchID: "remote",
	}
}

func said(status string, completed, failed int) doubleword.Batch {
	return doubleword.Batch{
		ID: "remote", Status: status, ExpiresAt: start().Add(24 * time.Hour),
		Counts: doubleword.Counts{Total: 10, Completed: completed, Failed: failed},
	}
}

func TestOnlyStatusAndCountsTogetherEndABatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		remote doubleword.Batch
		ended  bool
		why    string
	}{
		{"validating goes on", said("validating", 0, 0), false, "the provider runs it: validating"},
		{"in progress goes on", said("in_progress", 4, 1), false, "the provider runs it: in_progress"},
		{"in progress goes on though every row is counted", said("in_progress", 9, 1), false, "the provider runs it: in_progress"},
		{"finalizing goes on", said("finalizing", 9, 1), false, "the provider runs it: finalizing"},
		{"completed with every row counted ends", said("completed", 9, 1), true, ""},
		{"completed with rows open goes on", said("completed", 8, 1), false, "counts leave rows open"},
		{"completed with more rows than it was sent with ends", doubleword.Batch{ID: "remote", Status: "completed", Counts: doubleword.Counts{Total: 1000, Completed: 5}}, true, ""},
		{"completed with impossible counts ends", doubleword.Batch{ID: "remote", Status: "completed", CountsImpossible: true}, true, ""},
		{"impossible counts are told", doubleword.Batch{ID: "remote", Status: "in_progress", CountsImpossible: true}, false, "counts_contradict"},
		{"failed ends", said("failed", 0, 10), true, ""},
		{"failed before it had rows ends", doubleword.Batch{ID: "remote", Status: "failed"}, true, ""},
		{"expired ends", said("expired", 3, 0), true, ""},
		{"cancelling ends, since it stays so for ever", said("cancelling", 0, 0), true, ""},
		{"cancelled ends", said("cancelled", 3, 0), true, ""},
		{"a status nobody knows goes on", said("reviewing", 1, 0), false, `"reviewing", which is no status we know`},
		{"no status goes on", said("", 1, 0), false, `"", which is no status we know`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, now := submitted(), start().Add(time.Hour)
			kinds := poller.Decide(b, c.remote, now, pace())
			if c.ended {
				wantEnded(t, b, kinds, now)
				return
			}
			if b.State != events.BatchSubmitted || !slices.Equal(kinds, []events.Kind{events.BatchProgress}) {
				t.Errorf("%s, events %v", b.State, kinds)
			}
			if !strings.Contains(b.Why, c.why) || b.NextPollAt == nil || !b.NextPollAt.After(now) {
				t.Errorf("why %q, next poll %v", b.Why, b.NextPollAt)
			}
		})
	}
}

func wantEnded(t *testing.T, b *events.Batch, kinds []events.Kind, now time.Time) {
	t.Helper()
	if b.State != events.BatchFinished || !slices.Equal(kinds, []events.Kind{events.BatchIsFinished}) {
		t.Errorf("%s, events %v", b.State, kinds)
	}
	if b.NextPollAt != nil || b.ETAAt != nil || b.Why != "" || b.FinishedAt == nil || !b.FinishedAt.Equal(now) || !b.SinceAt.Equal(now) {
		t.Errorf("%+v", b)
	}
}

func TestAPollThatSeesNothingNewTellsNothing(t *testing.T) {
	t.Parallel()
	b := submitted()
	var told [][]events.Kind
	for i, remote := range []doubleword.Batch{
		said("validating", 0, 0), said("validating", 0, 0), said("in_progress", 0, 0), said("in_progress", 2, 0), said("in_progress", 2, 0),
		said("in_progress", 1, 0), // a retry at the provider: counts go down
		said("in_progress", 1, 1), said("odd", 1, 1), said("odd", 1, 1),
	} {
		told = append(told, poller.Decide(b, remote, start().Add(time.Duration(i+1)*time.Minute), pace()))
		if b.Counts != events.Counts(remote.Counts) || b.RatePerSec < 0 {
			t.Errorf("counts %+v, rate %v", b.Counts, b.RatePerSec)
		}
	}
	progress := []events.Kind{events.BatchProgress}
	want := [][]events.Kind{progress, nil, progress, progress, nil, progress, progress, progress, nil}
	if !reflect.DeepEqual(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestFileIDsAreKeptWhenTheProviderLeavesThemOut(t *testing.T) {
	t.Parallel()
	b := submitted()
	remote := said("in_progress", 1, 0)
	remote.OutputFileID, remote.ErrorFileID = "out", "err"
	poller.Decide(b, remote, start().Add(time.Minute), pace())
	poller.Decide(b, said("in_progress", 1, 0), start().Add(2*time.Minute), pace())
	if b.OutputFileID != "out" || b.ErrorFileID != "err" || b.ExpiresAt == nil {
		t.Errorf("%+v", b)
	}
}

func TestABatchIsOverdueOnce(t *testing.T) {
	t.Parallel()
	b := submitted()
	for i, want := range [][]events.Kind{{events.BatchProgress}, {events.BatchOverdue}, nil} {
		now := start().Add(24*time.Hour + time.Duration(i)*time.Minute)
		if kinds := poller.Decide(b, said("in_progress", 4, 0), now, pace()); !slices.Equal(kinds, want) {
			t.Errorf("%s after the window: %v, want %v", now.Sub(start()), kinds, want)
		}
	}
	if !b.Overdue || b.State != events.BatchSubmitted || !strings.Contains(b.Why, "past the completion window") {
		t.Errorf("%s, why %q", b.State, b.Why)
	}
	if wait := b.NextPollAt.Sub(start().Add(24*time.Hour + 2*time.Minute)); wait < pace().Ceiling*9/10 {
		t.Errorf("asked again after %s", wait)
	}
	late := said("completed", 9, 1)
	now := start().Add(30 * time.Hour)
	wantEnded(t, b, poller.Decide(b, late, now, pace()), now)
}

func TestCompletedWithOpenRowsEndsWithItsWindow(t *testing.T) {
	t.Parallel()
	b, last := submitted(), start().Add(24*time.Hour)
	poller.Decide(b, said("completed", 8, 1), last, pace())
	if b.State != events.BatchSubmitted {
		t.Fatal("the window is not over yet")
	}
	last = last.Add(time.Second)
	wantEnded(t, b, poller.Decide(b, said("completed", 8, 1), last, pace()), last)
}

func TestTheEstimateMovesOutWhenNothingSettles(t *testing.T) {
	t.Parallel()
	b, now := submitted(), start().Add(time.Minute)
	poller.Decide(b, said("in_progress", 6, 0), now, pace())
	if b.ETAAt == nil || b.ETAAt.Sub(now).Round(time.Second) != 40*time.Second {
		t.Fatalf("four rows at 6 a minute end at %v", b.ETAAt)
	}
	for range 200 {
		before := b.ETAAt
		now = now.Add(time.Minute)
		poller.Decide(b, said("in_progress", 6, 0), now, pace())
		if b.ETAAt != nil && before != nil && !b.ETAAt.After(*before) {
			t.Fatalf("from %v to %v", before, b.ETAAt)
		}
	}
	if b.ETAAt != nil {
		t.Errorf("after 200 minutes without a row it still is expected at %v", b.ETAAt)
	}
}

func TestSilenceIsAnOutageUntilItHasLasted(t *testing.T) {
	t.Parallel()
	b, cause := submitted(), errors.New("GET /batches/{id}: status 404")
	poller.Decide(b, said("in_progress", 1, 0), start().Add(time.Minute), pace())
	since := start().Add(2 * time.Minute)
	for _, c := range []struct {
		after time.Duration
		want  []events.Kind
	}{
		{0, nil},
		{14 * time.Minute, nil},
		{15 * time.Minute, []events.Kind{events.BatchNeedsAttention}},
		{20 * time.Minute, nil},
		{9 * time.Hour, nil},
	} {
		now := since.Add(c.after)
		if kinds := poller.DecideUnknown(b, cause, now, pace()); !slices.Equal(kinds, c.want) {
			t.Errorf("after %s: %v, want %v", c.after, kinds, c.want)
		}
		if b.State != events.BatchSubmitted || !b.UnknownSince.Equal(since) || b.LastError != cause.Error() || b.Why == "" || !b.NextPollAt.After(now) {
			t.Errorf("after %s: %+v", c.after, b)
		}
	}
	if b.Hold == nil || b.Hold.Code != events.HoldNeedsAttention {
		t.Fatalf("hold %+v", b.Hold)
	}
	kinds := poller.Decide(b, said("in_progress", 1, 0), since.Add(10*time.Hour), pace())
	if !slices.Equal(kinds, []events.Kind{events.BatchResumed}) || b.Hold != nil || b.UnknownSince != nil || b.LastError != "" {
		t.Errorf("%v, %+v", kinds, b)
	}
}

func TestAnAnswerEndsTheHoldsOfPolling(t *testing.T) {
	t.Parallel()
	for code, ends := range map[string]bool{
		events.HoldNeedsAttention: true, events.HoldKeyMissing: true, events.HoldPublish: false, events.HoldManifestMissing: false,
	} {
		b := submitted()
		b.Hold = &events.Hold{Code: code}
		kinds := poller.Decide(b, said("completed", 10, 0), start().Add(time.Hour), pace())
		if (b.Hold == nil) != ends || slices.Contains(kinds, events.BatchResumed) != ends || !slices.Contains(kinds, events.BatchIsFinished) {
			t.Errorf("%s: hold %v, events %v", code, b.Hold, kinds)
		}
	}
}

func TestAnotherHoldIsNotReplacedByDoubt(t *testing.T) {
	t.Parallel()
	b := submitted()
	b.Hold = &events.Hold{Code: events.HoldKeyMissing}
	for i := range 5 {
		if kinds := poller.DecideUnknown(b, errors.New("401"), start().Add(time.Duration(i)*time.Hour), pace()); kinds != nil {
			t.Error(kinds)
		}
	}
	if b.Hold.Code != events.HoldKeyMissing {
		t.Error(b.Hold.Code)
	}
}

func TestTheLastErrorIsCutBetweenRunes(t *testing.T) {
	t.Parallel()
	for shift := range 3 {
		b := submitted()
		poller.DecideUnknown(b, errors.New(strings.Repeat("x", shift)+strings.Repeat("é", 2000)), start(), pace())
		if len(b.LastError) > 1024 || len(b.LastError) < 1000 || !utf8.ValidString(b.LastError) {
			t.Errorf("%d bytes, valid %v", len(b.LastError), utf8.ValidString(b.LastError))
		}
	}
}

func TestABatchWithoutAnEndOfItsWindowIsOverdueByTheOneThatItWasSentWith(t *testing.T) {
	t.Parallel()
	submitted := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	b := events.Batch{State: events.BatchSubmitted, GroupKey: events.GroupKey{Window: "1h"}, SinceAt: submitted, SubmittedAt: &submitted}
	remote := doubleword.Batch{ID: "b", Status: doubleword.StatusInProgress, Counts: doubleword.Counts{Total: 2}}
	pace := poller.Pace{Floor: time.Second, Ceiling: time.Minute, Patience: time.Minute, Stuck: time.Hour}
	if kinds := poller.Decide(&b, remote, submitted.Add(59*time.Minute), pace); slices.Contains(kinds, events.BatchOverdue) {
		t.Errorf("within its window: %v", kinds)
	}
	if kinds := poller.Decide(&b, remote, submitted.Add(61*time.Minute), pace); !slices.Contains(kinds, events.BatchOverdue) || !b.Overdue {
		t.Errorf("past its window: %v", kinds)
	}
}
