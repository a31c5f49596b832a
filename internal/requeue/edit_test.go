package requeue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/requeue"
	"github.com/batchbus/batchbus/pkg/rows"
)

func edits(t *testing.T, texts ...string) (all []requeue.Edit) {
	t.Helper()
	for _, text := range texts {
		e, err := requeue.ParseEdit(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func TestAMemberIsSetAndAllOtherBytesStay(t *testing.T) {
	t.Parallel()
	all := []requeue.Row{{Line: []byte(line("a", "m")), Source: "s1"}, {Line: []byte(line("b", "m")), Source: "s2"}}
	changed := make([]requeue.Row, 0, len(all))
	for row, err := range requeue.Edited(list(&all), edits(t, `body.input="<&>"`, "body.temperature=0", "body.model=n/7=x"))(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		changed = append(changed, row)
	}
	for i, id := range []string{"a", "b"} {
		want := fmt.Sprintf(`{"custom_id":%q, "extra":1, "method":"POST","url":"/v1/embeddings","body":{"temperature":0,"model":"n/7=x",  "input":"<&>"}}`, id)
		if string(changed[i].Line) != want || changed[i].Source != all[i].Source || changed[i].Fault != nil {
			t.Errorf("got %s\nwant %s", changed[i].Line, want)
		}
	}
	plain := check(t, &all, requeue.Config{})
	plan := check(t, &changed, requeue.Config{})
	lines, ids := published(t, plan, &changed)
	_, before := published(t, plain, &all)
	if plan.Rows != 2 || plan.Digest == plain.Digest || len(lines) != 2 || lines[0] != string(changed[0].Line) || ids[0] == before[0] {
		t.Errorf("%+v, %q", plan, lines)
	}
}

func TestWhatCannotBeSetIsAFindingOfItsRow(t *testing.T) {
	t.Parallel()
	all := []requeue.Row{
		{Line: []byte(line("good", "m")), Number: 1},
		{Line: []byte(`{"custom_id":"broken",}`), Number: 2},
		{Line: []byte(strings.Replace(line("list", "m"), "1E5", "[7]", 1)), Number: 3},
		{Lost: "purged", Number: 4},
		{Line: []byte(`{"body":{"input":7}}`), Number: 5},
	}
	var changed []requeue.Row
	for row := range requeue.Edited(list(&all), edits(t, "body.input.0=8"))(t.Context()) {
		changed = append(changed, row)
	}
	if got := string(changed[2].Line); !strings.Contains(got, "[8]") {
		t.Errorf("an element is not set: %s", got)
	}
	plan := check(t, &changed, requeue.Config{})
	var got []string
	for _, f := range plan.Findings {
		got = append(got, fmt.Sprint(f.Line, " ", f.Code))
	}
	if want := "1 no_place, 2 invalid_json, 4 no_payload, 5 no_place"; strings.Join(got, ", ") != want || plan.Rows != 1 {
		t.Errorf("%q, %d rows, want %s", got, plan.Rows, want)
	}
	if lines, _ := published(t, plan, &changed); len(lines) != 1 {
		t.Errorf("published: %q", lines)
	}
	same := []requeue.Row{{Line: []byte(line("x", "m"))}, {Line: []byte(line("y", "m"))}}
	var doubled []requeue.Row
	for row := range requeue.Edited(list(&same), edits(t, "custom_id=one"))(t.Context()) {
		doubled = append(doubled, row)
	}
	if plan := check(t, &doubled, requeue.Config{}); plan.Faults != 1 || plan.Findings[0].Code != "duplicate" {
		t.Errorf("one custom_id for two rows: %+v", plan.Findings)
	}
}

func TestAnEditIsAPathAndAValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a.b=1": "[a b] 1", `a=`: `[a] ""`, "a=x=y": `[a] "x=y"`, `a="7"`: `[a] "7"`, `a={"b":[1E5]}`: `[a] {"b":[1E5]}`, "a=it's": `[a] "it's"`,
	} {
		if e, err := requeue.ParseEdit(text); err != nil || fmt.Sprintf("%v %s", e.Path, e.Value) != want {
			t.Errorf("%s: %v %s, %v", text, e.Path, e.Value, err)
		}
	}
	for text, want := range map[string]error{"a": requeue.ErrEdit, "": requeue.ErrEdit, "=1": rows.ErrPath, "a..b=1": rows.ErrPath, "a=\xff": requeue.ErrEdit} {
		if _, err := requeue.ParseEdit(text); !errors.Is(err, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
