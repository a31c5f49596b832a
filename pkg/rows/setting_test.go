package rows_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/rows"
)

const setHead = `{ "custom_id" : "a","method":"POST","url":"/v1/chat/completions","body":`

func settings(t *testing.T, texts ...string) *rows.Rules {
	t.Helper()
	rules := rows.DefaultRules()
	for _, text := range texts {
		s, err := rows.ParseSetting(text)
		if err != nil {
			t.Fatal(err)
		}
		rules.Set = append(rules.Set, s)
	}
	return &rules
}

func TestSettingsAreSplicedIntoTheBodyAndNothingElseChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set        []string
		body, want string
	}{
		"a member is added":             {[]string{"body.temperature=0"}, `{"model": "m" }`, `{"temperature":0,"model": "m" }`},
		"one that is there is replaced": {[]string{"body.temperature=0.50"}, `{"temperature" : 1.00 ,"model":"m","x":[ 1]}`, `{"temperature" : 0.50 ,"model":"m","x":[ 1]}`},
		"each of two of one name":       {[]string{"body.n=3"}, `{"n":1,"n":2,"model":"m"}`, `{"n":3,"n":3,"model":"m"}`},
		"a path through objects":        {[]string{`body.metadata.team={"id": 7}`}, `{"model":"m"}`, `{"metadata":{"team":{"id": 7}},"model":"m"}`},
		"a text":                        {[]string{"body.user=me, myself"}, `{"model":"m"}`, `{"user":"me, myself","model":"m"}`},
		"an element":                    {[]string{"body.messages.0.role=system"}, `{"model":"m","messages":[{"role":"user"}]}`, `{"model":"m","messages":[{"role":"system"}]}`},
		"in their order":                {[]string{"body.a={}", "body.a.b=1"}, `{"model":"m"}`, `{"a":{"b":1},"model":"m"}`},
		"what the row asked for":        {[]string{"body.stream=false"}, `{"model":"m","stream":true}`, `{"model":"m","stream":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := setHead + c.body + ` , "extra":1}`
			row, fault := rows.Parse([]byte(line), settings(t, c.set...))
			if fault != nil || string(row.Body) != c.want || row.CustomID != "a" || row.Model != "m" {
				t.Errorf("%+v, %v: body %s", row, fault, row.Body)
			}
			again, fault := rows.Parse(append(append([]byte(setHead), row.Body...), '}'), settings(t, c.set...))
			if fault != nil || string(again.Body) != c.want {
				t.Errorf("set once more: %s, %v", again.Body, fault)
			}
		})
	}
}

func TestARowIsJudgedWithItsSettingsAndToldOfWhereItStands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set, line, code string
		column          int
	}{
		"a body that is no object is not made one": {"body.model2=x", setHead + `null}`, rows.CodeBodyNotObject, len(setHead) + 1},
		"a fault in front of the body":             {"body.n=1", `{"custom_id":"a","method":"GET","url":"/v1/embeddings","body":{"model":"m"}}`, rows.CodeMethodNotPost, 27},
		"a fault of the row's own behind it":       {"body.n=1", setHead + `{"model":7}}`, rows.CodeModelNotString, len(setHead) + 10},
		"a member twice":                           {"body.n=1", `{"custom_id":"a","custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"model":"m"}}`, rows.CodeDuplicateKey, 18},
		"a fault that the setting makes":           {"body.reasoning_effort=huge", setHead + `{"model":"m"}}`, rows.CodeUnknownEffort, 0},
		"no place":                                 {"body.metadata.team=a", setHead + `{"model":"m","metadata":[1]}}`, rows.CodeNoPlace, len(setHead) + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, fault := rows.Parse([]byte(c.line), settings(t, c.set))
			if fault == nil || fault.Code != c.code || fault.Column != c.column {
				t.Errorf("%v", fault)
			}
			if c.code != rows.CodeDuplicateKey && (fault.CustomID != "a" || !fault.HasCustomID) {
				t.Errorf("the row's owner: %+v", fault)
			}
		})
	}
}

func TestABodyThatItsSettingsMakeTooLongIsRefused(t *testing.T) {
	t.Parallel()
	rules := settings(t, "body.user="+strings.Repeat("x", 100))
	line := []byte(setHead + `{"model":"m"}}`)
	rules.MaxRowBytes = len(line)
	if _, fault := rows.Parse(line, rules); fault == nil || fault.Code != rows.CodeRowTooLarge || fault.CustomID != "a" {
		t.Errorf("%+v", fault)
	}
}

func TestWarningsAreOfTheRowThatIsSent(t *testing.T) {
	t.Parallel()
	line := []byte(setHead + `{"model":"m"}}`)
	if row, _ := rows.Parse(line, settings(t, "body.max_tokens=99")); len(row.Warnings) != 0 {
		t.Errorf("%+v", row.Warnings)
	}
	row, _ := rows.Parse(line, settings(t, "body.max_tokens=1"))
	if len(row.Warnings) != 1 || row.Warnings[0].Code != rows.WarnTinyMaxTokens || row.Warnings[0].Column != 0 {
		t.Errorf("%+v", row.Warnings)
	}
}

func TestASettingThatCouldBeNoneIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"body.temperature", "temperature=0", "body=1", "url=/v1/x", "body.model=m", "body.model.x=m", "body.stream=true", "body.a..b=1", "body.seed=1e400",
		"body.user=\xff", `body.deep=` + strings.Repeat("[", 200) + strings.Repeat("]", 200),
	} {
		if s, err := rows.ParseSetting(text); !errors.Is(err, rows.ErrSetting) && !errors.Is(err, rows.ErrPath) {
			t.Errorf("%.40s: %+v, %v", text, s, err)
		}
	}
	a, b := settings(t, "body.a=1").Set, settings(t, "body.a.b=1").Set
	if err := rows.CheckSettings(append(a, b...)); !errors.Is(err, rows.ErrSetting) {
		t.Errorf("settings in each other's way: %v", err)
	}
}

func TestOnlyTheModelsOfTheRulesAreAllowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules  rows.Rules
		body   string
		ok     bool
		column int
	}{
		"the row's own":             {rows.Rules{Models: []string{"a", "b"}}, `{"model":"b"}`, true, 0},
		"another":                   {rows.Rules{Models: []string{"a", "b"}}, `{"model":"c"}`, false, len(setHead) + 10},
		"in the place of the row's": {rows.Rules{Models: []string{"a"}, Model: "a"}, `{"model":"c"}`, true, 0},
		"one that is filled in":     {rows.Rules{Models: []string{"a"}, DefaultModel: "c"}, `{}`, false, 0},
		"a model in other letters":  {rows.Rules{Models: []string{"a"}}, `{"model":"A"}`, false, len(setHead) + 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, fault := rows.Parse([]byte(setHead+c.body+"}"), &c.rules)
			if c.ok != (fault == nil) {
				t.Fatal(fault)
			}
			if fault != nil && (fault.Code != rows.CodeModelNotAllowed || fault.Column != c.column || !strings.Contains(fault.Hint, "a") || fault.CustomID != "a") {
				t.Errorf("%+v", fault)
			}
		})
	}
	many := rows.Rules{Models: strings.Split("m0 m1 m2 m3 m4 m5 m6 m7 m8 m9", " ")}
	if _, fault := rows.Parse([]byte(setHead+`{"model":"c"}}`), &many); !strings.HasSuffix(fault.Hint, "m7 and 2 more") {
		t.Errorf("hint %q", fault.Hint)
	}
}
