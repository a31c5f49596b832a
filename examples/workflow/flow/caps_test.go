package flow_test

import (
	"strings"
	"testing"

	"github.com/batchbus/batchbus/examples/workflow/flow"
	"github.com/batchbus/batchbus/pkg/client"
)

func TestCapsEndRowsAndNothingOfThemIsSentAfterwards(t *testing.T) {
	t.Parallel()
	line := len(row("a", "x")) + 400 // with the definitions of the tools it is less
	for name, c := range map[string]struct {
		cap   func(*flow.Caps)
		model func(line string, round int) client.Result
		// want is of each row: its status, its calls and the stage that it ended in; why is what the first capped one says.
		want map[string][3]any
		why  string
	}{
		"stages": {
			cap: func(c *flow.Caps) { c.Stages = 2 }, model: callsUntil(5), why: "stages:",
			want: map[string][3]any{"a": {flow.Capped, 1, 2}, "b": {flow.Capped, 1, 2}},
		},
		"calls of a row in one answer: none of them is run": {
			cap: func(c *flow.Caps) { c.CallsPerRow = 3 }, why: "calls of a row:",
			model: func(string, int) client.Result { return calls(4, "echo", "{}") },
			want:  map[string][3]any{"a": {flow.Capped, 0, 1}, "b": {flow.Capped, 0, 1}},
		},
		"calls of a row in all stages": {
			cap: func(c *flow.Caps) { c.CallsPerRow = 3 }, why: "calls of a row: it wants 2 more after 2, of 3",
			model: func(string, int) client.Result { return calls(2, "echo", "{}") },
			want:  map[string][3]any{"a": {flow.Capped, 2, 2}, "b": {flow.Capped, 2, 2}},
		},
		"calls of all rows: the first of the bus' order has them": {
			cap: func(c *flow.Caps) { c.Calls = 3 }, model: callsUntil(2), why: "calls of all rows:",
			want: map[string][3]any{"a": {flow.Answered, 2, 3}, "b": {flow.Capped, 1, 2}},
		},
		"bytes of a row": {
			cap: func(c *flow.Caps) { c.RowBytes = line + 600 }, why: "bytes of a row:",
			model: func(string, int) client.Result { return calls(8, "long", "{}") },
			want:  map[string][3]any{"a": {flow.Capped, 8, 1}, "b": {flow.Capped, 8, 1}},
		},
		"bytes of all rows": {
			cap: func(c *flow.Caps) { c.Bytes = int64(2*line + 1000) }, why: "bytes of all rows:",
			model: func(_ string, round int) client.Result {
				if round > 0 {
					return words("done")
				}
				return calls(1, "long", "{}")
			},
			want: map[string][3]any{"a": {flow.Answered, 1, 2}, "b": {flow.Capped, 1, 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, caps := newWorld(c.model), flow.DefaultCaps()
			c.cap(&caps)
			threads, err := lead(t, w, caps, row("a", "x"), row("b", "x"))
			if err != nil {
				t.Fatal(err)
			}
			why, sent := "", 0
			for _, thread := range threads {
				got := [3]any{thread.Status, len(thread.Calls), thread.Stage}
				if got != c.want[thread.ID] {
					t.Errorf("%s: %v, not %v", thread.ID, got, c.want[thread.ID])
				}
				if why == "" {
					why = thread.Why
				}
				sent += thread.Stage
			}
			if !strings.HasPrefix(why, c.why) {
				t.Errorf("it says %q", why)
			}
			for _, rows := range w.rows {
				sent -= len(rows)
			}
			if sent != 0 {
				t.Errorf("%d rows too few or too many were sent", sent)
			}
		})
	}
}

func TestAnInputOverTheCapsStartsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cap   func(*flow.Caps)
		lines []string
		want  string
	}{
		"rows":             {func(c *flow.Caps) { c.Rows = 1 }, []string{row("a", "x"), row("b", "x")}, "cap of 1 rows"},
		"bytes":            {func(c *flow.Caps) { c.Bytes = 300 }, []string{row("a", "x"), row("b", "x"), row("c", "x")}, "300 bytes"},
		"one custom_id":    {func(*flow.Caps) {}, []string{row("a", "x"), row("a", "y")}, "twice"},
		"another encoding": {func(*flow.Caps) {}, []string{"\xff\xfea\x00"}, "UTF-16"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caps := flow.DefaultCaps()
			c.cap(&caps)
			threads, err := flow.Load(strings.NewReader(strings.Join(c.lines, "\n")), []byte("[]"), caps)
			if err == nil || !strings.Contains(err.Error(), c.want) || threads != nil {
				t.Errorf("got %d threads, %v", len(threads), err)
			}
		})
	}
}

func TestRowsThatCannotStartAreRejectedAlone(t *testing.T) {
	t.Parallel()
	caps := flow.DefaultCaps()
	caps.RowBytes = 300
	lines := []string{
		row("good", "x"), row("long", strings.Repeat("x", 300)), row("grown", strings.Repeat("x", 150)),
		strings.Replace(row("url", "x"), "chat/completions", "embeddings", 1), strings.Replace(row("none", "x"), "messages", "message", 1),
	}
	threads, err := flow.Load(strings.NewReader(strings.Join(lines, "\n")), []byte(`["`+strings.Repeat("t", 50)+`"]`), caps)
	if err != nil || len(threads) != len(lines) {
		t.Fatalf("%d threads, %v", len(threads), err)
	}
	for i, thread := range threads {
		if (thread.Status == flow.Rejected) != (i > 0) || (i > 0) != strings.Contains(thread.Why, "line ") {
			t.Errorf("%s: %s %q", thread.ID, thread.Status, thread.Why)
		}
	}
}

func TestCapsThatCannotWorkAreAllNamed(t *testing.T) {
	t.Parallel()
	caps := flow.Caps{CallsPerRow: 100, ResultBytes: 1 << 20}
	err := caps.Check()
	for _, want := range []string{"stages", "of rows", "of calls:", "row bytes", "cap of bytes", "do not fit"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
	if err := flow.DefaultCaps().Check(); err != nil {
		t.Error(err)
	}
}
