package rows_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/batchbus/batchbus/pkg/rows"
)

func TestSpliceModelTouchesNothingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{`{}`, `{"model":"M\"x"}`},
		{"\t{ \r\n}", "\t{\"model\":\"M\\\"x\" \r\n}"},
		{`{"a":1.0 , "b":"<&>"}`, `{"model":"M\"x","a":1.0 , "b":"<&>"}`},
		{`{"a":1, "model" : "old" ,"b":1E5}`, `{"a":1, "model" : "M\"x" ,"b":1E5}`},
		{`{"model":{"deep":[1,"}"]},"z":{"model":"inner"}}`, `{"model":"M\"x","z":{"model":"inner"}}`},
		{`{"model":"1","model":null}`, `{"model":"M\"x","model":"M\"x"}`},
		{`{"mod\u0065l":-1.5e3}`, `{"mod\u0065l":"M\"x"}`},
	} {
		before := bytes.Clone([]byte(c.body))
		got, err := rows.SpliceModel([]byte(c.body), `M"x`)
		if err != nil || string(got) != c.want || string(before) != c.body {
			t.Errorf("%s: got %s, %v", c.body, got, err)
		}
	}
}

func TestSpliceModelRefusesWhatItCannotKeep(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, ` `, `[]`, `"x"`, `{"a":}`, `{} {}`, "{\"a\":\"\xff\"}"} {
		if _, err := rows.SpliceModel([]byte(body), "m"); !errors.Is(err, rows.ErrBody) {
			t.Errorf("%q: %v", body, err)
		}
	}
	for _, model := range []string{"", "\xff"} {
		if _, err := rows.SpliceModel([]byte(`{}`), model); !errors.Is(err, rows.ErrModel) {
			t.Errorf("model %q: %v", model, err)
		}
	}
}

func TestModelRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ defaultModel, override, body, model, wire string }{
		"the body's own":               {"d", "", `{"model":"m"}`, "m", `{"model":"m"}`},
		"the default where none is":    {"d", "", `{"n":1}`, "d", `{"model":"d","n":1}`},
		"the default in place of null": {"d", "", `{"model":null}`, "d", `{"model":"d"}`},
		"the override":                 {"d", "o", `{"model":"m"}`, "o", `{"model":"o"}`},
		"the override of a bad model":  {"", "o", `{"model":7}`, "o", `{"model":"o"}`},
		"the last of two":              {"", "", `{"model":"1","model":"2"}`, "2", `{"model":"1","model":"2"}`},
	} {
		rules := rows.Rules{DefaultModel: c.defaultModel, Model: c.override}
		row, fault := rows.Parse([]byte(head+c.body+"}"), &rules)
		if fault != nil || row.Model != c.model || string(row.Body) != c.wire {
			t.Errorf("%s: %q %s %v", name, row.Model, row.Body, fault)
		}
	}
}

func TestAppendLineWritesWhatParseRead(t *testing.T) {
	t.Parallel()
	row, fault := rows.Parse([]byte(head+` {"model":"m","t":"<&>\u2028"} , "extra":1}`), nil)
	if fault != nil {
		t.Fatal(fault)
	}
	got := rows.AppendLine([]byte("before\n"), `7~q"\`, row.AppendTail(nil))
	want := "before\n" + `{"custom_id":"7~q\"\\","method":"POST","url":"/v1/chat/completions","body":{"model":"m","t":"<&>\u2028"}}` + "\n"
	if string(got) != want {
		t.Errorf("got %s", got)
	}
}

func FuzzSpliceModel(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"model":2}],"model":"x","model":1,"b":"\"}"}`), "m")
	f.Add([]byte("{\"mod\\u0065l\":1.0,\"\":\"\\\\\"}"), "\u2028\"\\")
	f.Fuzz(func(t *testing.T, body []byte, model string) {
		got, err := rows.SpliceModel(body, model)
		before, valid := members(body)
		if err != nil {
			if valid && model != "" && errors.Is(err, rows.ErrBody) {
				t.Fatalf("a valid object was refused: %q", body)
			}
			return
		}
		after, valid := members(got)
		if !valid {
			t.Fatalf("%q became %q", body, got)
		}
		kept, set := before[:0], 0
		for _, m := range before {
			if m[0] != "model" {
				kept = append(kept, m)
			}
		}
		for _, m := range after {
			if m[0] != "model" {
				if len(kept) == 0 || kept[0] != m {
					t.Fatalf("%q became %q", body, got)
				}
				kept = kept[1:]
				continue
			}
			plain, err := jsontext.AppendUnquote(nil, m[1])
			if set++; err != nil || string(plain) != model {
				t.Fatalf("model %q became %s", model, m[1])
			}
		}
		if set == 0 || len(kept) > 0 {
			t.Fatalf("%q became %q", body, got)
		}
	})
}

// members reads an object with jsontext's own decoder: decoded names, raw values.
func members(body []byte) (list [][2]string, valid bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, false
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		text := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		list = append(list, [2]string{text, string(value)})
	}
	_, err := dec.ReadToken()
	return list, err == nil && jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true))
}
