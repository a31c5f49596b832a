package events_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/events"
)

func anyName() *rapid.Generator[string] { return rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`) }

func TestEverySubjectIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		queue, job, id := anyName().Draw(t, "queue"), anyName().Draw(t, "job"), anyName().Draw(t, "id")
		q, j, err := events.ParseRowsSubject(events.RowsSubject(queue, job))
		if err != nil || q != queue || j != job {
			t.Fatalf("rows: %q %q %v", q, j, err)
		}
		kind, q, j, i, err := events.ParseEventSubject(events.EventSubject(events.BatchTwin, queue, job, id))
		if err != nil || kind != events.BatchTwin || q != queue || j != job || i != id {
			t.Fatalf("event: %q %q %q %q %v", kind, q, j, i, err)
		}
		q, j, err = events.ParseRequestSubject(events.RequestSubject(queue, job))
		if events.IsRolling(job) {
			if !errors.Is(err, events.ErrSubject) {
				t.Fatalf("an explicit %q is taken: %v", job, err)
			}
		} else if err != nil || q != queue || j != job {
			t.Fatalf("request: %q %q %v", q, j, err)
		}
		q, j, err = events.ParseRequestSubject(events.RequestSubject(queue, ""))
		if err != nil || q != queue || j != "" {
			t.Fatalf("rolling request: %q %q %v", q, j, err)
		}
	})
}

func TestSubjectsAndKeysAreSpelledAsDocumented(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		events.RequestSubject("q", "j"):                      "batchbus.requests.q.j",
		events.RequestSubject("q", ""):                       "batchbus.requests.q",
		events.RowsSubject("q", "j"):                         "batchbus.rows.q.j",
		events.ResultSubject("q", "j", "case-1"):             "batchbus.results.q.j.case-1",
		events.ResultsFilter("q", "j"):                       "batchbus.results.q.j.>",
		events.DeadletterSubject("q", "j", "0f"):             "batchbus.deadletters.q.j.0f",
		events.DeadlettersFilter("q", "j"):                   "batchbus.deadletters.q.j.>",
		events.EventSubject(events.JobOpened, "q", "j", "1"): "batchbus.events.job.opened.q.j.1",
		events.JobKey("q", "j"):                              "job.q.j",
		events.BatchKey("q", "j", "5-1"):                     "batch.q.j.5-1",
		events.BatchPrefix("q", "j"):                         "batch.q.j.",
		events.CursorKey("q", "j", "5-1"):                    "cursor.q.j.5-1",
		events.EventID("", 7):                                "0-7",
		events.EventID("5-1", 7):                             "5-1-7",
		events.ResultSubject("q", "j", "a.b"):                "batchbus.results.q.j.~2e7336dc8eba87ef472df568c35482abf2575dc3e5eac0c5c62b8ffaeac2c934",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSubjectsOfAnotherShapeAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", events.MaxNameBytes+1)
	for _, subject := range []string{
		"", "batchbus.requests", "batchbus.requests.", "batchbus.requests.q.", "batchbus.requests..j", "batchbus.requests.q.j.more",
		"batchbus.requests.q.auto-1", "batchbus.requests.q*", "batchbus.requests.q.>", "batchbus.requests.é", "batchbus.requests." + long,
		"batchbus.requests.q." + long, "batchbus.rows.q.j", "xbatchbus.requests.q",
	} {
		if _, _, err := events.ParseRequestSubject(subject); !errors.Is(err, events.ErrSubject) {
			t.Errorf("request %q: %v", subject, err)
		}
	}
	for _, subject := range []string{"batchbus.rows.q", "batchbus.rows.q.", "batchbus.rows.q.j.k", "batchbus.rows..j", "batchbus.requests.q.j"} {
		if _, _, err := events.ParseRowsSubject(subject); !errors.Is(err, events.ErrSubject) {
			t.Errorf("rows %q: %v", subject, err)
		}
	}
	for _, subject := range []string{"batchbus.events.job.opened.q.j", "batchbus.events.job.opened.q.j.1.2", "batchbus.events.job.opened..j.1"} {
		if _, _, _, _, err := events.ParseEventSubject(subject); !errors.Is(err, events.ErrSubject) {
			t.Errorf("event %q: %v", subject, err)
		}
	}
}

func TestNamesAreTokensOfASubject(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"a": true, "A-Z_09": true, strings.Repeat("x", 64): true,
		"": false, strings.Repeat("x", 65): false, "a.b": false, "a b": false, "*": false, ">": false, "é": false, "a\n": false, "~": false,
	} {
		if err := events.CheckName(name); (err == nil) != good || !good && !errors.Is(err, events.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := events.CheckName(strings.Repeat("y", 1<<20)); len(err.Error()) > 300 {
		t.Errorf("the error quotes %d bytes", len(err.Error()))
	}
}

func TestARowTokenIsOneTokenAndDiffersForEveryID(t *testing.T) {
	t.Parallel()
	shape := regexp.MustCompile(`^([A-Za-z0-9_-]{1,64}|~[0-9a-f]{64})$`)
	ids := rapid.OneOf(rapid.String(), anyName(), rapid.StringMatching(`~[0-9a-f]{0,64}`), rapid.StringMatching(`[a.* >]{0,3}`))
	rapid.Check(t, func(t *rapid.T) {
		a, b := ids.Draw(t, "a"), ids.Draw(t, "b")
		token := events.RowToken(a)
		if !shape.MatchString(token) {
			t.Fatalf("%q is the token of %q", token, a)
		}
		if events.IsToken(a) && token != a {
			t.Fatalf("%q could stand for itself and became %q", a, token)
		}
		if (token == events.RowToken(b)) != (a == b) {
			t.Fatalf("%q and %q have the tokens %q and %q", a, b, token, events.RowToken(b))
		}
		if again := events.RowToken(token); token[0] == '~' && again == token {
			t.Fatalf("an id that looks like the token %q would share it", token)
		}
	})
}

func FuzzSubject(f *testing.F) {
	for _, s := range []string{
		events.RequestSubject("q", "j"), events.RequestSubject("q", ""), events.RowsSubject("q", "j"),
		events.EventSubject(events.JobDone, "q", "j", "0-1"), "batchbus.events.....", "batchbus.requests.q.auto-",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, subject string) {
		if queue, job, err := events.ParseRequestSubject(subject); err == nil && events.RequestSubject(queue, job) != subject {
			t.Errorf("request %q was read as %q, %q", subject, queue, job)
		}
		if queue, job, err := events.ParseRowsSubject(subject); err == nil && events.RowsSubject(queue, job) != subject {
			t.Errorf("rows %q was read as %q, %q", subject, queue, job)
		}
		kind, queue, job, id, err := events.ParseEventSubject(subject)
		if err == nil && events.EventSubject(kind, queue, job, id) != subject {
			t.Errorf("event %q was read as %q, %q, %q, %q", subject, kind, queue, job, id)
		}
	})
}

// FuzzRowToken: the token of any id makes a result's subject of five tokens, without wildcards, that a NATS server takes,
// and no two ids share one.
func FuzzRowToken(f *testing.F) {
	for _, id := range []string{"a", "a.b", "*", ">", "~", "~" + strings.Repeat("0", 64), "é", "\x00", " ", strings.Repeat("x", 65), "12~x", "$SYS", "\xff"} {
		f.Add(id, "a")
		f.Add(id, events.RowToken(id))
	}
	shape := regexp.MustCompile(`^batchbus\.results\.q\.j\.([A-Za-z0-9_-]{1,64}|~[0-9a-f]{64})$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if subject := events.ResultSubject("q", "j", a); !shape.MatchString(subject) {
			t.Fatalf("%q gives %q", a, subject)
		}
		if a != b && events.RowToken(a) == events.RowToken(b) {
			t.Fatalf("%q and %q share %q", a, b, events.RowToken(a))
		}
	})
}

func TestBatchNumbersAreOrderedAsNumbers(t *testing.T) {
	t.Parallel()
	want := []string{"1", "2", "2-1", "2-1-1", "2-2", "3", "10", "10-9", "10-10"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, events.CompareNumbers)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
