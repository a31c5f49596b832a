// Package contract_test holds the documents to the code: what they show must decode, and what the code can say must be explained.
package contract_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// deadLetter is a dead letter with its payload as it travels, which is no field of [events.DeadLetter].
type deadLetter struct {
	events.DeadLetter
	Text   *string `json:"payload"`
	Base64 []byte  `json:"payload_base64"`
}

// strictly decodes an example into a new T, in which every field of the example must be known.
func strictly[T any](data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(new(T))
}

func judgeRow(data []byte) error {
	rules := rows.DefaultRules()
	var p rows.Parser
	if _, fault := p.Parse(bytes.TrimSpace(data), &rules); fault != nil {
		return fault
	}
	return nil
}

func TestEveryExampleOfTheEventsPageIsRead(t *testing.T) {
	t.Parallel()
	readers := map[string]func([]byte) error{
		"row": judgeRow, "result": strictly[events.Result], "deadletter": strictly[deadLetter], "event": strictly[events.Event],
		"job": strictly[events.Job], "batch": strictly[events.Batch], "cursor": strictly[events.Cursor], "budget": strictly[events.Budget],
		"open": strictly[events.OpenJob], "status": strictly[events.JobStatus], "forgotten": strictly[events.Forgotten],
		"apierror": strictly[events.APIError], "queue": strictly[events.QueueStatus], "retry": strictly[events.RetryJob], "retried": strictly[events.Retried], "endhold": strictly[events.EndHold], "pause": strictly[events.PauseQueue], "resumed": strictly[events.Resumed],
	}
	seen := map[string]int{}
	for _, example := range regexp.MustCompile("(?ms)^```json *(\\w*)\n(.*?)^```").FindAllStringSubmatch(page(t), -1) {
		read, known := readers[example[1]]
		if !known {
			t.Errorf("an example says %q behind json, which is no payload: %.80s", example[1], example[2])
			continue
		}
		seen[example[1]]++
		if err := read([]byte(example[2])); err != nil {
			t.Errorf("example of a %s: %v\n%s", example[1], err, example[2])
		}
	}
	for name := range readers {
		if seen[name] == 0 {
			t.Errorf("the page has no example of a %s", name)
		}
	}
}

func TestAnExampleWithAnUnknownFieldIsRefused(t *testing.T) {
	t.Parallel()
	if strictly[events.Result]([]byte(`{"custom_id":"a","renamed":1}`)) == nil || judgeRow([]byte(`{"custom_id":"a"}`)) == nil {
		t.Error("the test of the examples cannot fail")
	}
}

func TestTheEventsPageExplainsEveryConstant(t *testing.T) {
	t.Parallel()
	text := page(t)
	found := map[string]int{}
	for _, c := range append(constants(t, "../../pkg/events"), constants(t, "../../pkg/jetstore")...) {
		family, documented := c.family()
		if !documented {
			continue
		}
		found[family]++
		want := "`" + c.value
		if family != "Prefix" {
			want += "`"
		}
		if !strings.Contains(text, want) {
			t.Errorf("docs/events.md does not explain %s, %s", c.name, want)
		}
	}
	for _, family := range []string{"Header", "Prefix", "Kind", "Outcome", "DL", "Code", "Hold", "API"} {
		if found[family] == 0 {
			t.Errorf("no constant of the family %s was found: the test looks in the wrong place", family)
		}
	}
}

// constant is a text constant of a package's source.
type constant struct{ name, typed, value string }

// family tells what kind of word of the wire c is, if any.
func (c constant) family() (string, bool) {
	if c.typed == "Kind" || c.typed == "Outcome" {
		return c.typed, true
	}
	for _, prefix := range []string{"Header", "Prefix", "DL", "Code", "Hold", "CEType", "API"} {
		if c.typed == "" && strings.HasPrefix(c.name, prefix) {
			return prefix, true
		}
	}
	return "", false
}

// constants reads the exported text constants of a folder from its source, so that a new one cannot be forgotten.
func constants(t *testing.T, dir string) []constant {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", dir, err)
	}
	var all []constant
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if group, ok := declaration.(*ast.GenDecl); ok && group.Tok == token.CONST {
				all = append(all, textsOf(group)...)
			}
		}
	}
	return all
}

func textsOf(group *ast.GenDecl) []constant {
	var all []constant
	for _, spec := range group.Specs {
		values, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		typed := ""
		if name, ok := values.Type.(*ast.Ident); ok {
			typed = name.Name
		}
		for i, value := range values.Values {
			literal, ok := value.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING || !values.Names[i].IsExported() {
				continue
			}
			if text, err := strconv.Unquote(literal.Value); err == nil {
				all = append(all, constant{values.Names[i].Name, typed, text})
			}
		}
	}
	return all
}
