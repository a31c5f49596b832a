package e2e_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestValidateNamesEveryBadAndDoubledRow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"),
		fmt.Sprintf(goodRow, "a")+"{oops\n"+fmt.Sprintf(goodRow, "a")+
			`{"custom_id":"c","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[]}}`+"\n")
	o := batchbus(t, dir, nil, "validate", file)
	o.want(t, 2)
	for _, text := range []string{
		"rows.jsonl:2:2: error: invalid_json", "rows.jsonl:3: error: duplicate", "rows.jsonl:1", "rows.jsonl:4", "missing_max_tokens",
		"4 rows: 2 bad, 1 warnings",
	} {
		if !strings.Contains(o.stdout, text) {
			t.Errorf("stdout does not say %q:\n%s", text, o.stdout)
		}
	}
	pretty := batchbus(t, dir, nil, "validate", writeFile(t, filepath.Join(dir, "pretty.jsonl"), "{\n  \"a\": 1,\n  \"b\": 2\n}\n"))
	pretty.want(t, 2)
	if n := strings.Count(pretty.stdout, "error:"); n != 1 || !strings.Contains(pretty.stdout, "prepare") {
		t.Errorf("a pretty-printed object is told of %d times:\n%s", n, pretty.stdout)
	}
	good := writeFile(t, filepath.Join(dir, "good.jsonl"), fmt.Sprintf(goodRow, "a"))
	batchbus(t, dir, nil, "validate", good).want(t, 0)
	batchbus(t, dir, nil, "validate", good, good).want(t, 2) // one job: the second file doubles the first
}

func TestValidateShowsEachBadRowThatItCountsUnderTheCodeOfTheBus(t *testing.T) {
	t.Parallel()
	one := fmt.Sprintf(goodRow, "a")
	for name, c := range map[string]struct {
		text string
		says []string // of one finding each
	}{
		"objects over several lines, one behind the other": {"{\n \"a\":1\n}\n{\n \"b\":2\n}\n", []string{"f.jsonl:1:2: error: multiline_object", "f.jsonl:4:2: error: multiline_object"}},
		"pieces of objects": {"{\"custom_id\":\"e\"\n}\n{\n{\"a\n", []string{
			"f.jsonl:1:17: error: multiline_object", "f.jsonl:3:2: error: multiline_object", "f.jsonl:4:4: error: invalid_json",
		}},
		"the same row and another with one id": {one + one + strings.Replace(one, `"model"`, `"n":1,"model"`, 1), []string{"f.jsonl:2: error: duplicate", "f.jsonl:3: error: conflict"}},
		"text that is UTF-16":                  {"\xff\xfe{\x00}\x00\n\x00", []string{"f.jsonl:1:1: error: utf16"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := writeFile(t, filepath.Join(dir, "f.jsonl"), c.text)
			o := batchbus(t, dir, nil, "validate", file)
			o.want(t, 2)
			for _, text := range append(c.says, fmt.Sprintf(" %d bad", len(c.says))) {
				if !strings.Contains(o.stdout, text) || strings.Count(o.stdout, "error:") != len(c.says) {
					t.Errorf("stdout does not say %q once of %d findings:\n%s", text, len(c.says), o.stdout)
				}
			}
			asJSON := batchbus(t, dir, nil, "validate", "--json", file)
			if n := strings.Count(asJSON.stdout, `"warning":false`); n != len(c.says) {
				t.Errorf("%d findings in JSON, want %d:\n%s", n, len(c.says), asJSON.stdout)
			}
		})
	}
}

func TestValidateCountsARowOnceThatIsBadTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text strings.Builder
	for i := range 65 {
		text.WriteString(strings.Replace(fmt.Sprintf(goodRow, strconv.Itoa(i%64)), `"model":"`, fmt.Sprintf(`"model":"%d-`, i), 1))
	}
	o := batchbus(t, dir, nil, "validate", writeFile(t, filepath.Join(dir, "f.jsonl"), text.String()))
	o.want(t, 2)
	for _, want := range []string{"f.jsonl:65: error: too_many_groups", "f.jsonl:65: error: conflict", " 1 bad"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("stdout does not say %q:\n%s", want, o.stdout)
		}
	}
}
