package integration_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// mixture is what careless publishers send: bad, refused, doubled and contradicting rows among good ones.
func mixture() (jsonl string, rows int) {
	lines := []string{
		chat("good-1", "m", "one"),
		chat("good-2", "m", "two"),
		`{"method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[]}}`, // no custom_id: dead letter
		`this is no JSON`, // dead letter
		`{"custom_id":"bad-url","method":"POST","url":"/v1/images/generations","body":{"model":"m"}}`,             // rejected
		`{"custom_id":"streams","method":"POST","url":"/v1/chat/completions","body":{"model":"m","stream":true}}`, // rejected
		chat("good-1", "m", "one"),                 // duplicate
		chat("good-2", "m", "another two"),         // conflict
		chat("bad-url", "m", "repaired, too late"), // conflict: the refused row owns the id
		"", // a blank line is no row
		chat("good-3", "n", "three"),
		`{"custom_id":"no-model","method":"POST","url":"/v1/chat/completions","body":{"messages":[]}}`, // rejected
		`{"custom_id":7,"method":"POST","url":"/v1/chat/completions","body":{"model":"m"}}`,            // dead letter
	}
	return strings.Join(lines, "\n") + "\n", len(lines) - 1
}

func TestEveryRowOfAMixtureEndsAsOneResultOrOneDeadLetter(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{Latency: 500 * time.Millisecond}).start()
	jsonl, rows := mixture()
	subject := events.RequestSubject(queue, "mixed")
	s.send(subject, jsonl)
	s.send(subject, chat("good-4", "m", "four"))
	s.send(subject, chat("good-1", "m", "one")) // duplicate, of another message
	s.send(events.RequestSubject(queue, "other"), chat("good-1", "m", "the same id in another job")+"\n"+chat("good-2", "m", "and another"))
	s.seal("mixed")
	s.seal("other")
	s.awaitEvent(events.JobFullyPlanned, "mixed")
	s.send(subject, chat("late-1", "m", "behind the seal"))
	s.awaitEvent(events.JobDone, "mixed")
	s.awaitEvent(events.JobDone, "other")
	s.send(subject, chat("late-2", "m", "behind the end")+"\n"+chat("good-1", "m", "one"))
	rows += 5

	want := []string{
		"conflict", "conflict", "custom_id_not_string", "duplicate", "duplicate", "invalid_json",
		"job_sealed", "job_sealed", "job_sealed", "missing_custom_id",
	}
	s.await(jetstore.StreamDeadletters, events.DeadlettersFilter(queue, "mixed"), len(want))
	results, letters := s.results("mixed"), s.deadLetters("mixed")
	if got := codes(letters); !slices.Equal(got, want) {
		t.Errorf("dead letters\n%v, want\n%v", got, want)
	}
	wantOutcomes(t, results, map[events.Outcome]int{events.Succeeded: 4, events.Rejected: 3})
	if len(results)+len(letters) != rows {
		t.Errorf("%d results and %d dead letters for %d rows", len(results), len(letters), rows)
	}
	for id, code := range map[string]string{"bad-url": "url_not_allowed", "streams": "stream_true", "no-model": "missing_model"} {
		if r := results[id]; r.Outcome != events.Rejected || r.Error == nil || r.Error.Code != code {
			t.Errorf("%s: %s", id, r.Raw)
		}
	}
	s.wantAllOnce("other", []string{"good-1", "good-2"})
	wantPaid(t, s.ledger(), 3, 6) // (mixed, m), (mixed, n), (other, m)
}

func TestADeadLetterHoldsTheInputAndItsPlace(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{}).start()
	lines := []string{chat("a", "m", "one"), "\xff not UTF-8", chat("a", "m", "other")}
	s.publish("places", strings.Join(lines, "\n"))
	s.awaitEvent(events.JobDone, "places")
	letters := s.deadLetters("places")
	slices.SortFunc(letters, func(a, b client.DeadLetter) int { return a.Line - b.Line })
	if len(letters) != 2 {
		t.Fatalf("dead letters %v", codes(letters))
	}
	if d := letters[0]; d.Code != "invalid_utf8" || d.Line != 2 || d.Column != 1 || string(d.Payload) != lines[1] {
		t.Errorf("%s", d.Raw)
	}
	if d := letters[1]; d.Code != "conflict" || d.Line != 3 || d.CustomID != "a" || string(d.Payload) != lines[2] || d.First == nil || d.First.Line != 1 {
		t.Errorf("%s", d.Raw)
	}
	s.send(events.RequestSubject(queue, "places"), "")
	s.await(jetstore.StreamDeadletters, events.DeadlettersFilter(queue, "places"), 3)
	if got := codes(s.deadLetters("places")); !slices.Equal(got, []string{"conflict", "empty_message", "invalid_utf8"}) {
		t.Errorf("dead letters %v", got)
	}
}
