package rows_test

import (
	"bytes"
	stdjson "encoding/json"
	"strings"
	"testing"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/rows"
)

// FuzzParse compares with two JSON libraries: what Parse accepts, both must read in the same way, and what the strict
// one refuses as JSON, Parse must refuse.
func FuzzParse(f *testing.F) {
	for _, reason := range rows.Reasons() {
		f.Add([]byte(reason.Example), "")
	}
	f.Add([]byte(open+`"t":[1,{"model":"x"}],"u":"\"}"}}`), "")
	f.Add([]byte(` { "body" : {"mod\u0065l":"m"} , "url":"\/v1\/messages","method":"post","custom_id":"\u00e9" } `), "")
	f.Add([]byte(head+`{"model":null}}`), "other")
	f.Fuzz(func(t *testing.T, line []byte, model string) {
		before := bytes.Clone(line)
		row, fault := rows.Parse(line, &rows.Rules{DefaultModel: model})
		if !bytes.Equal(line, before) {
			t.Fatal("the line was changed")
		}
		strict := jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true))
		if fault != nil {
			checkFault(t, line, fault, strict)
			return
		}
		if !strict || !stdjson.Valid(line) {
			t.Fatalf("accepted, but not JSON: %q", line)
		}
		checkRow(t, line, row, strings.ToValidUTF8(model, "\uFFFD"))
	})
}

func checkFault(t *testing.T, line []byte, fault *rows.Fault, strict bool) {
	t.Helper()
	switch fault.Code {
	case rows.CodeInvalidJSON, rows.CodeInvalidUTF8, rows.CodeBOMInside, rows.CodeLoneSurrogate, rows.CodeUTF16:
		if strict {
			t.Fatalf("refused as no JSON: %v: %q", fault, line)
		}
	default:
		if !strict && fault.Code != rows.CodeMultilineObject && fault.Code != rows.CodeTooDeep {
			t.Fatalf("judged although it is no JSON: %v: %q", fault, line)
		}
	}
	if fault.Column < 0 || fault.Column > len(line)+1 || fault.HasCustomID != (fault.CustomID != "") {
		t.Fatalf("%+v: %q", fault, line)
	}
}

func checkRow(t *testing.T, line []byte, row rows.Row, model string) {
	t.Helper()
	var v2 struct {
		CustomID string         `json:"custom_id"`
		URL      string         `json:"url"`
		Body     jsontext.Value `json:"body"`
	}
	if err := json.Unmarshal(line, &v2, jsontext.AllowDuplicateNames(true)); err != nil {
		t.Fatalf("%v: %q", err, line)
	}
	var v1 map[string]stdjson.RawMessage
	var body struct {
		Model *string `json:"model"`
	}
	if err := stdjson.Unmarshal(line, &v1); err != nil {
		t.Fatalf("%v: %q", err, line)
	}
	var id, url string
	if stdjson.Unmarshal(v1["custom_id"], &id) != nil || stdjson.Unmarshal(v1["url"], &url) != nil {
		t.Fatalf("%q", line)
	}
	if id != row.CustomID || url != row.URL || v2.CustomID != id || v2.URL != url {
		t.Fatalf("%q %q: %q", row.CustomID, row.URL, line)
	}
	if err := json.Unmarshal(row.Body, &body, jsontext.AllowDuplicateNames(true), json.MatchCaseInsensitiveNames(false)); err == nil && body.Model != nil && *body.Model != row.Model {
		t.Fatalf("model %q: %q", row.Model, line)
	}
	if list, ok := members(row.Body); !ok || lastModel(list) != row.Model {
		t.Fatalf("model %q: %s", row.Model, row.Body)
	}
	if row.Model != model && (!aliases(line, row.Body) || !bytes.Equal(row.Body, v2.Body)) {
		t.Fatalf("the body is no piece of the line: %q", line)
	}
}

func lastModel(list [][2]string) (model string) {
	for _, m := range list {
		if m[0] == "model" {
			plain, _ := jsontext.AppendUnquote(nil, m[1])
			model = string(plain)
		}
	}
	return model
}

// aliases reports whether part lies within the memory of whole.
func aliases(whole, part []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	return at < uintptr(len(whole))
}

func TestAnyBodyComesOutByteForByte(t *testing.T) {
	t.Parallel()
	var parser rows.Parser
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.SliceOfN(genMember(3), 0, 4).Draw(t, "members")
		members = append(members, `"model":"m"`)
		body := "{" + strings.Join(members, space(t)+",") + "}"
		line := space(t) + head + space(t) + body + space(t) + "}"
		row, fault := parser.Parse([]byte(line), nil)
		if fault != nil || string(row.Body) != body {
			t.Fatalf("%v\n got %s\nwant %s", fault, row.Body, body)
		}
		wire := rows.AppendLine(nil, "0~a", row.AppendTail(nil))
		again, fault := rows.Parse(bytes.TrimSuffix(wire, []byte("\n")), nil)
		if fault != nil || string(again.Body) != body || again.CustomID != "0~a" {
			t.Fatalf("the wire line reads %v %s", fault, again.Body)
		}
	})
}

func space(t *rapid.T) string { return rapid.StringMatching(`[ \t\r]{0,2}`).Draw(t, "space") }

func genMember(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return genString().Draw(t, "name") + space(t) + ":" + space(t) + genValue(depth).Draw(t, "value")
	})
}

func genString() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{`\"`, `\\`, `\/`, `\u00e9`, `\ud83d\ude00`, `\u2028`, "\u2028", "é", "<&>", "}", "]", ":", ",", "{", "a", "\u0085", "\x7f"})
	return rapid.Custom(func(t *rapid.T) string {
		return `"k` + strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "text"), "") + `"`
	})
}

func genValue(depth int) *rapid.Generator[string] {
	scalar := rapid.OneOf(genString(), rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`), rapid.SampledFrom([]string{"null", "true", "false", "1.0", "1E5", "-0"}))
	if depth == 0 {
		return scalar
	}
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return scalar.Draw(t, "scalar")
		case 1:
			return "[" + strings.Join(rapid.SliceOfN(genValue(depth-1), 0, 3).Draw(t, "array"), space(t)+",") + "]"
		}
		return "{" + strings.Join(rapid.SliceOfN(genMember(depth-1), 0, 3).Draw(t, "object"), ","+space(t)) + "}"
	})
}

func TestParserAllocatesTheIDOnly(t *testing.T) { //nolint:paralleltest // allocations are counted for the whole process
	line := bytes.Replace(benchLine(), []byte(`"custom_id":"a"`), []byte(`"custom_id":"case-000123"`), 1)
	rules := rows.DefaultRules()
	var parser rows.Parser
	if n := testing.AllocsPerRun(100, func() { _, _ = parser.Parse(line, &rules) }); n > 1 {
		t.Errorf("%v allocations per good row", n)
	}
}

func benchLine() []byte {
	prompt := strings.Repeat("Summarise the case in two sentences. ", 22)
	return []byte(head + `{"model":"Qwen/Qwen3-30B","messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"` +
		prompt + `"}],"max_tokens":512,"temperature":0.2,"seed":42}}`)
}

func BenchmarkParse(b *testing.B) {
	line := benchLine()
	rules := rows.DefaultRules()
	var parser rows.Parser
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, fault := parser.Parse(line, &rules); fault != nil {
			b.Fatal(fault)
		}
	}
}

// BenchmarkScan is the same bytes through jsontext alone: the floor of BenchmarkParse.
func BenchmarkScan(b *testing.B) {
	line := benchLine()
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if !jsontext.Value(line).IsValid() {
			b.Fatal("invalid")
		}
	}
}
