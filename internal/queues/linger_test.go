package queues_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// pass lets time pass on the bubble's clock.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// wantLinger asks one reader after another for the length at a time.
func wantLinger(t *testing.T, at time.Time, want time.Duration, readers ...*queues.Store) {
	t.Helper()
	for i, s := range readers {
		if got, err := s.Linger(t.Context(), "calls", at); err != nil || got != want {
			t.Errorf("reader %d: %s, %v, want %s", i, got, err, want)
		}
	}
}

func TestAMessageHasTheLengthOfItsTimeWhoeverReadsItAndWhenever(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		own := 60 * time.Second
		readers := []*queues.Store{queues.New(f.Store, 0), queues.New(f.Store, 0)}
		at := map[time.Time]time.Duration{}
		wanted := own
		step := func() { // a message is received now by the first reader, and later again by all
			now := time.Now()
			if got, err := readers[0].Linger(t.Context(), "calls", now); err != nil || got != wanted {
				t.Errorf("%s, %v, want %s", got, err, wanted)
			}
			at[now] = wanted
		}
		change := func(fields string) {
			put(t, queues.New(f.Store, 0), "calls", fields)
			for range 5 { // it does not hold before its lead is over
				step()
				pass(queues.LingerLead / 6)
			}
		}
		step()
		pass(time.Hour)
		for _, c := range []struct {
			fields string
			linger time.Duration
		}{
			{`{"linger_seconds":10}`, 10 * time.Second},
			{`{"linger_seconds":10,"window":"1h"}`, 10 * time.Second},
			{`{"linger_seconds":60}`, 60 * time.Second},
			{`{"linger_seconds":1}`, time.Second},
			{`{"window":"1h"}`, own},
			{`{"linger_seconds":7}`, 7 * time.Second},
			{`{}`, own},
		} {
			change(c.fields)
			pass(queues.LingerLead / 6)
			wanted = c.linger
			step()
			pass(time.Hour)
			step()
		}
		readers = append(readers, queues.New(f.Store, 0)) // one that has just started
		for when, want := range at {
			wantLinger(t, when, want, readers...)
		}
	})
}

func TestAReaderAsksAgainBeforeALengthThatItHasNotSeenCanHold(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		reader, asked := queues.New(f.Store, 0), 0
		counted := queues.New(&counting{f.Store, &asked}, 0)
		for range 20 {
			wantLinger(t, time.Now(), time.Minute, reader, counted)
			pass(time.Second)
		}
		if asked != 2 {
			t.Errorf("the leader was asked %d times in 20 s", asked)
		}
		put(t, queues.New(f.Store, 0), "calls", `{"linger_seconds":10}`)
		holds := time.Now().Add(queues.LingerLead)
		for time.Now().Before(holds) {
			wantLinger(t, time.Now(), time.Minute, reader)
			pass(time.Second / 2)
		}
		wantLinger(t, time.Now(), 10*time.Second, reader)
	})
}

// counting counts the reads of records.
type counting struct {
	queues.Bus
	n *int
}

func (c *counting) Queue(ctx context.Context, queue string) (jetstore.Entry, error) {
	*c.n++
	return c.Bus.Queue(ctx, queue)
}

func TestAQueueShowsTheLengthsThatItKeepsApartFromItsPolicy(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		s := queues.New(f.Store, 7*time.Second)
		if p, err := s.Policy(t.Context(), "calls"); err != nil || p.LingerSeconds != 7 {
			t.Errorf("the services' own: %+v, %v", p, err)
		}
		first := put(t, s, "calls", `{"linger_seconds":60}`)
		if string(first.Record) != `{"linger_seconds":60}` || first.Policy.LingerSeconds != 60 || len(first.Lingers) != 1 || first.Lingers[0].Seconds != 60 {
			t.Errorf("the default's length, named: %+v", first)
		}
		pass(time.Hour)
		q := put(t, s, "calls", `{}`)
		if q.Record != nil || q.Policy.LingerSeconds != 7 || len(q.Lingers) != 2 || !q.Lingers[0].From.Equal(first.Lingers[0].From) || q.Lingers[1].Seconds != 0 {
			t.Errorf("taken back: %+v", q)
		}
		if again := put(t, s, "calls", `{}`); again.Revision != q.Revision {
			t.Errorf("the same was stored again")
		}
		for listed, err := range s.From(t.Context(), 0) {
			t.Errorf("listed: %+v, %v", listed, err)
		}
	})
}

func TestALengthIsKeptForAMonthAfterItHeld(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	ago := func(days int) string { return time.Now().AddDate(0, 0, -days).UTC().Format(time.RFC3339) }
	raw(t, f, "calls", `{"linger_seconds":4,"lingers":[{"seconds":1,"from":"`+ago(90)+`"},{"seconds":2,"from":"`+ago(60)+`"},{"seconds":3,"from":"`+ago(9)+`"}]}`)
	q := put(t, queues.New(f.Store, 0), "calls", `{"window":"1h"}`)
	var seconds []int
	for _, l := range q.Lingers {
		seconds = append(seconds, l.Seconds)
	}
	if !slices.Equal(seconds, []int{2, 3, 4, 0}) {
		t.Errorf("kept: %+v", q.Lingers)
	}
}

func TestARecordIsNoDiaryOfLengths(t *testing.T) {
	t.Parallel()
	s := queues.New(jetstoretest.Start(t).Store, 0)
	for i := range 200 {
		_, err := s.Put(t.Context(), "calls", fmt.Appendf(nil, `{"linger_seconds":%d}`, 1+i%2), nil)
		if errors.Is(err, queues.ErrFaults) && strings.Contains(err.Error(), "linger_seconds") && i >= 100 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("two hundred lengths are kept")
}

func TestARecordWhoseLengthsCannotBeReadLetsRowsWait(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	for _, bad := range []string{
		`{"linger_seconds":"x"}`, `{"lingers":7}`, `{"lingers":[{"seconds":-1,"from":"2026-11-30T00:00:00Z"}]}`,
		`{"lingers":[{"seconds":2,"from":"2026-11-30T00:00:01Z"},{"seconds":1,"from":"2026-11-30T00:00:00Z"}]}`,
	} {
		raw(t, f, "calls", bad)
		s := queues.New(f.Store, 0)
		if linger, err := s.Linger(t.Context(), "calls", time.Now()); !errors.Is(err, queues.ErrRecord) {
			t.Errorf("%s: %s, %v", bad, linger, err)
		}
		if q, err := s.Get(t.Context(), "calls"); err != nil || !errors.Is(q.Fault, queues.ErrRecord) {
			t.Errorf("%s: %+v, %v", bad, q, err)
		}
	}
	raw(t, f, "calls", `{"linger_seconds":5}`)
	before := time.Now().Add(-time.Hour)
	s := queues.New(f.Store, 0)
	if linger, err := s.Linger(t.Context(), "calls", before); err != nil || linger != time.Minute {
		t.Errorf("another tool's record, of a message before it: %s, %v", linger, err)
	}
	if q, err := s.Get(t.Context(), "calls"); err != nil || q.Policy.LingerSeconds != 5 || len(q.Lingers) != 1 || q.Lingers[0] != (events.Linger{Seconds: 5, From: q.ChangedAt.Add(queues.LingerLead)}) {
		t.Errorf("%+v, %v", q, err)
	}
}
