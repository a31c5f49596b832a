package requeue_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/internal/refused"
	"github.com/batchbus/batchbus/internal/requeue"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
	"github.com/batchbus/batchbus/pkg/rows"
)

const queue, job = "default", "nightly"

func line(id, model string) string {
	return fmt.Sprintf(`{"custom_id":%q, "extra":1, "method":"POST","url":"/v1/embeddings","body":{"model":%q,  "input":1E5}}`, id, model)
}

// list are rows that change only when the test changes them.
func list(all *[]requeue.Row) requeue.Rows {
	return func(context.Context) iter.Seq2[requeue.Row, error] {
		return func(yield func(requeue.Row, error) bool) {
			for _, row := range *all {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

func check(t *testing.T, all *[]requeue.Row, c requeue.Config) *requeue.Plan {
	t.Helper()
	if c.Rules == nil {
		c.Rules = &rows.Rules{}
	}
	plan, err := requeue.Check(t.Context(), list(all), c)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func published(t *testing.T, p *requeue.Plan, all *[]requeue.Row) (lines, ids []string) {
	t.Helper()
	for row, err := range p.Messages(t.Context(), list(all)) {
		if err != nil {
			t.Fatal(err)
		}
		lines, ids = append(lines, string(row.Line)), append(ids, row.ID)
	}
	return lines, ids
}

func TestRowsThatPassAreTheSameMessagesEachTime(t *testing.T) {
	t.Parallel()
	a, b := line("a", "m"), line("b", "m")
	all := []requeue.Row{{Line: []byte(a), Source: "s1"}, {Line: []byte(b), Source: "s2"}}
	plan := check(t, &all, requeue.Config{})
	lines, ids := published(t, plan, &all)
	if plan.Rows != 2 || plan.Matched != 2 || plan.Faults != 0 || len(lines) != 2 || lines[0] != a || lines[1] != b || ids[0] == ids[1] {
		t.Fatalf("%+v: %q %q", plan, lines, ids)
	}
	again := check(t, &all, requeue.Config{})
	_, same := published(t, again, &all)
	if again.Digest != plan.Digest || same[0] != ids[0] || same[1] != ids[1] {
		t.Error("the same rows are another requeue the second time")
	}
	later := []requeue.Row{all[0], all[1], {Line: []byte(line("c", "m")), Source: "s3"}}
	if lines, _ := published(t, plan, &later); len(lines) != 2 {
		t.Errorf("what came between the passes is published: %q", lines)
	}
	if check(t, &later, requeue.Config{}).Digest == plan.Digest {
		t.Error("another row, and the same digest")
	}
	changed := []requeue.Row{{Line: []byte(line("a", "m2")), Source: "s1"}, all[1]}
	if lines, _ := published(t, plan, &changed); len(lines) != 1 || lines[0] != b {
		t.Errorf("what was changed between the passes is published: %q", lines)
	}
	_, others := published(t, check(t, &changed, requeue.Config{}), &changed)
	if others[0] == ids[0] {
		t.Error("another correction has the id of the first: the bus would drop it")
	}
}

func TestAModelIsReplacedAndNothingElseOfTheBody(t *testing.T) {
	t.Parallel()
	all := []requeue.Row{{Line: []byte(line("a\"", "m")), Source: "s1"}}
	plan := check(t, &all, requeue.Config{Rules: &rows.Rules{Model: "n<>"}, Rebuild: true})
	lines, ids := published(t, plan, &all)
	if want := `{"custom_id":"a\"","method":"POST","url":"/v1/embeddings","body":{"model":"n<>",  "input":1E5}}`; len(lines) != 1 || lines[0] != want {
		t.Errorf("%q", lines)
	}
	other := check(t, &all, requeue.Config{Rules: &rows.Rules{Model: "o"}, Rebuild: true})
	if _, again := published(t, other, &all); again[0] == ids[0] || other.Digest == plan.Digest {
		t.Error("another model, and the same id or digest")
	}
}

func TestARowThatCannotBePublishedIsAFindingWithItsPlace(t *testing.T) {
	t.Parallel()
	held := func(id [16]byte) (int, bool) { return 1, id == rows.HashID("held") }
	all := []requeue.Row{
		{Line: []byte(line("a", "m")), From: "x", Number: 1},
		{Line: []byte(`{"custom_id":"held"}`), From: "x", Number: 2},
		{Line: []byte(`{"custom_id":"b"}`), From: "x", Number: 3},
		{Line: []byte(line("a", "n")), From: "x", Number: 4},
		{From: "y", Number: 5, Lost: "the rows were purged"},
	}
	plan := check(t, &all, requeue.Config{Linked: held})
	var got []string
	for _, f := range plan.Findings {
		got = append(got, fmt.Sprintf("%s:%d %s", f.From, f.Line, f.Code))
	}
	if want := "x:3 missing_method, x:4 duplicate, y:5 no_payload"; strings.Join(got, ", ") != want || plan.Faults != 3 {
		t.Errorf("%q, %d, want %s", got, plan.Faults, want)
	}
	if plan.Held[1] != 1 || plan.Seen != 5 {
		t.Errorf("%+v", plan)
	}
	many := make([]requeue.Row, 0, events.MaxGroups+1)
	for n := range events.MaxGroups + 1 {
		many = append(many, requeue.Row{Line: []byte(line(strconv.Itoa(n), "m"+strconv.Itoa(n)))})
	}
	if plan := check(t, &many, requeue.Config{}); plan.Faults != 1 || plan.Findings[0].Code != events.CodeTooManyGroups {
		t.Errorf("a 65th model: %+v", plan.Findings)
	}
}

func TestALinkedJobHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", events.MaxNameBytes)
	for _, c := range []struct {
		job    string
		linked bool
		n      int
		want   string
	}{
		{"nightly", false, 1, "nightly-fix1"},
		{"nightly-fix1", false, 2, "nightly-fix1-fix2"},
		{"nightly-fix1", true, 2, "nightly-fix2"},
		{"auto-20261130T021100Z-60", false, 1, "rolling-20261130T021100Z-60-fix1"},
		{requeue.Nobody, false, 1, "unnamed-fix1"},
		{long, false, 12, long[:58] + "-fix12"},
	} {
		got := requeue.Fixes().Name(requeue.Fixes().Base(c.job, c.linked), c.n)
		if got != c.want || !events.IsToken(got) || events.IsRolling(got) {
			t.Errorf("%s: %s, want %s", c.job, got, c.want)
		}
	}
	if requeue.Queue(requeue.Nobody) != events.DefaultQueue || requeue.Queue("fast") != "fast" {
		t.Error("the queue of a message that named none")
	}
}

func TestAFileOfCorrectedRowsIsMatchedByCustomID(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	text := "\ufeff" + line("a", "m") + "\n\n" + `{"custom_id":"b"}` + "\n" + line("c", "m")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sources := map[[16]byte][16]byte{rows.HashID("a"): {1}, rows.HashID("b"): {2}}
	var got []string
	for row, err := range requeue.File(path, sources)(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %.2s", row.Number, row.Source))
	}
	if strings.Join(got, ", ") != "1 01, 3 02, 4 " {
		t.Errorf("%q", got)
	}
	for _, err := range requeue.File(path+"x", nil)(t.Context()) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("no file: %v", err)
		}
	}
}

func TestARefusedMessageOfManyRowsIsAsManyRows(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	for name, d := range map[string]events.DeadLetter{
		"message": {Code: events.DLBadSubject, Line: 10, Payload: []byte(line("a", "m") + "\n\n" + line("b", "m") + "\n")},
		"nothing": {Code: events.DLEmpty, Line: 1, Payload: []byte(" \n")},
	} {
		d.Queue, d.Job, d.Source = queue, name, strings.Repeat("0f", 16)
		m, err := f.Store.Fit(t.Context(), jetstore.StreamDeadletters, messages.DeadLetter(&d), nil)
		if err == nil {
			_, err = f.Store.Publish(t.Context(), m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	reader := &refused.Reader{Bus: f.Store, Jobs: jobs.New(f.Store)}
	for name, want := range map[string]string{"message": "10 a, 12 b", "nothing": "1 lost"} {
		var got []string
		var parser rows.Parser
		for row, err := range requeue.Refused(reader, refused.Filter{Queue: queue, Jobs: []string{name}})(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			parsed, _ := parser.Parse(row.Line, nil)
			id := parsed.CustomID
			if row.Lost != "" {
				id = "lost"
			}
			got = append(got, fmt.Sprint(row.Number, " ", id))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %s", name, got, want)
		}
	}
}
