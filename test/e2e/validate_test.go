package e2e_test

import (
	"fmt"
	"path/filepath"
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
