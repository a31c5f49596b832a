package rows_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/rows"
)

// node is a JSON value that a real decoder has read, nothing merged or converted.
type node struct {
	kind    jsontext.Kind
	text    string // of a string its content, of a number its digits
	members []named
	items   []node
}

type named struct {
	name  string
	value node
}

// last is the value that a parser keeps of a name.
func (n node) last(name string) (node, bool) {
	for _, m := range slices.Backward(n.members) {
		if m.name == name {
			return m.value, true
		}
	}
	return node{}, false
}

func decode(dec *jsontext.Decoder) (node, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return node{}, err
	}
	n := node{kind: tok.Kind(), text: tok.String()}
	for n.kind == '{' && dec.PeekKind() != '}' && err == nil {
		var name, value node
		if name, err = decode(dec); err == nil {
			value, err = decode(dec)
			n.members = append(n.members, named{name.text, value})
		}
	}
	for n.kind == '[' && dec.PeekKind() != ']' && err == nil {
		var item node
		item, err = decode(dec)
		n.items = append(n.items, item)
	}
	if err == nil && (n.kind == '{' || n.kind == '[') {
		_, err = dec.ReadToken()
	}
	return n, err
}

// walk calls f for a value and all below it.
func (n node) walk(depth int, f func(n node, depth int)) {
	f(n, depth)
	for _, m := range n.members {
		m.value.walk(depth+1, f)
	}
	for _, item := range n.items {
		item.walk(depth+1, f)
	}
}

// reference judges a line by what the rules say, slowly, on a decoded tree. It returns "" for a good row.
func reference(line []byte) string {
	if bytes.IndexByte(line, '\n') >= 0 {
		return "a line feed"
	}
	dec := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true))
	root, err := decode(dec)
	if err != nil {
		return err.Error()
	}
	if rest := line[dec.InputOffset():]; len(bytes.Trim(rest, " \t\r")) > 0 {
		return "trailing text"
	}
	seen := map[string]bool{}
	for _, m := range root.members {
		if seen[m.name] {
			return "a member twice"
		}
		seen[m.name] = true
	}
	id, _ := root.last("custom_id")
	method, _ := root.last("method")
	url, _ := root.last("url")
	body, _ := root.last("body")
	switch {
	case root.kind != '{':
		return "no object"
	case id.kind != '"' || id.text == "" || len(id.text) > 1024:
		return "custom_id"
	case method.kind != '"' || strings.Map(lower, method.text) != "post":
		return "method"
	case url.kind != '"' || !slices.Contains(rows.DefaultRules().URLs, url.text):
		return "url"
	case body.kind != '{':
		return "body"
	}
	if why := referenceBody(body); why != "" {
		return why
	}
	return referenceReasoning(url.text, body)
}

func referenceReasoning(url string, body node) string {
	forbidden := map[string][]string{
		"/v1/chat/completions": {"chat_template_kwargs", "thinking", "thinking_token_budget", "reasoning"},
		"/v1/completions":      {"chat_template_kwargs", "thinking", "thinking_token_budget", "reasoning", "reasoning_effort"},
	}
	for _, name := range forbidden[url] {
		if control, there := body.last(name); there && control.kind != 'n' {
			return "a control"
		}
	}
	effort, there := node{}, false
	switch url {
	case "/v1/chat/completions":
		effort, there = body.last("reasoning_effort")
	case "/v1/responses":
		reasoning, _ := body.last("reasoning")
		effort, there = reasoning.last("effort")
	}
	if words := strings.Fields("none minimal low medium high xhigh max"); there && effort.kind != 'n' && (effort.kind != '"' || !slices.Contains(words, effort.text)) {
		return "effort"
	}
	return ""
}

// lower is ASCII alone.
func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

func referenceBody(body node) (why string) {
	body.walk(2, func(n node, depth int) {
		if (n.kind == '{' || n.kind == '[') && depth > 127 {
			why = "depth"
		}
		if n.kind == '0' {
			if _, err := strconv.ParseFloat(n.text, 64); err != nil {
				why = "number"
			}
		}
	})
	if stream, _ := body.last("stream"); stream.kind == 't' {
		return "stream"
	}
	if model, _ := body.last("model"); model.kind != '"' || model.text == "" || len(model.text) > 256 {
		return "model"
	}
	return why
}

// agree fails when Parse and the reference differ in their verdict.
func agree(t interface{ Fatalf(string, ...any) }, line []byte) {
	_, fault := rows.Parse(line, nil)
	if why := reference(line); (why == "") != (fault == nil) {
		t.Fatalf("the reference says %q, Parse %v: %q", why, fault, line)
	}
}

// FuzzVerdict compares every verdict with the reference's, both ways.
func FuzzVerdict(f *testing.F) {
	for _, reason := range rows.Reasons() {
		f.Add([]byte(reason.Example))
	}
	f.Add([]byte(good))
	f.Add([]byte(nested(127)))
	f.Add([]byte(open + `"a":-0.0e-400,"b":1.7976931348623159e308}}`))
	f.Fuzz(func(t *testing.T, line []byte) { agree(t, line) })
}

// FuzzRow is FuzzVerdict on what looks much like a row, where bytes alone seldom get to.
func FuzzRow(f *testing.F) { f.Fuzz(rapid.MakeFuzz(verdictOfARow)) }

func TestTheVerdictIsThatOfAStrictReference(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		good, nested(127), nested(128), open + `"a":1.7976931348623158e308}}`, open + `"a":1.7976931348623159e308}}`,
		strings.Replace(good, `"a"`, `"`+strings.Repeat("x", 1024)+`"`, 1), strings.Replace(good, `"m"`, `"`+strings.Repeat("m", 256)+`"`, 1),
	} {
		agree(t, []byte(line))
	}
	for _, reason := range rows.Reasons() {
		agree(t, []byte(reason.Example))
	}
	rapid.Check(t, verdictOfARow)
}

func verdictOfARow(t *rapid.T) {
	odd := rapid.OneOf(
		genValue(2), rapid.SampledFrom([]string{
			`"a"`, `"POST"`, `"post"`, `"/v1/embeddings"`, `{"model":"m"}`, `{}`, `null`, `""`, `true`, `1e309`, `NaN`, `"\ud800"`, "\"\xff\"", `[`, ``, `-`,
			strings.Repeat(`[`, 126) + strings.Repeat(`]`, 126), strings.Repeat(`{"a":`, 125) + `1` + strings.Repeat(`}`, 125), `"` + strings.Repeat("é", 128) + `"`,
		}),
	)
	names := rapid.SampledFrom([]string{"custom_id", "method", "url", "body", "Body", "custom\\u005fid", "x", "model", "stream"})
	// Most members are right, so that the odd one decides.
	pick := func(name, right string) string {
		if rapid.IntRange(0, 5).Draw(t, "odd "+name) == 0 {
			right = odd.Draw(t, name)
		}
		return fmt.Sprintf(`"%s":%s`, name, right)
	}
	body := []string{pick("model", `"m"`), pick("stream", "false"), pick("n", "1")}
	if rapid.Bool().Draw(t, "reasons") {
		control := rapid.SampledFrom([]string{"reasoning_effort", "reasoning", "reasoning", "thinking", "thinking_token_budget", "chat_template_kwargs", "reasonin\\u0067"})
		value := rapid.SampledFrom([]string{"null", `"high"`, `"xhigh"`, `"h\u0069gh"`, `"huge"`, `""`, "1", "{}", `{"effort":"max"}`, `{"effort":null}`, `{"effort":"x","effort":"low"}`, `{"effort":[]}`, `[{"effort":"x"}]`})
		for i := range rapid.IntRange(1, 2).Draw(t, "controls") {
			body = append(body, fmt.Sprintf(`"%s":%s`, control.Draw(t, fmt.Sprint("control ", i)), value.Draw(t, fmt.Sprint("value ", i))))
		}
	}
	line := []string{pick("custom_id", `"a"`), pick("method", `"POST"`), pick("url", rapid.SampledFrom([]string{`"/v1/messages"`, `"/v1/chat/completions"`, `"/v1/completions"`, `"/v1/responses"`}).Draw(t, "path")), pick("body", "{"+strings.Join(body, ",")+"}")}
	if rapid.IntRange(0, 3).Draw(t, "more") == 0 {
		line = append(line, fmt.Sprintf(`"%s":%s`, names.Draw(t, "name"), odd.Draw(t, "value")))
	}
	line = rapid.Permutation(line).Draw(t, "order")
	if drop := rapid.IntRange(0, 12).Draw(t, "drop"); drop < len(line) {
		line = slices.Delete(line, drop, drop+1)
	}
	agree(t, []byte(rapid.SampledFrom([]string{"", " ", "\t", "\f", "\u00a0"}).Draw(t, "before")+"{"+strings.Join(line, ",")+"}"+
		rapid.SampledFrom([]string{"", " ", "x", "}", "\r"}).Draw(t, "behind")))
}
