package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheSameRowsAreTheSameJobWhereverTheyComeFrom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rows := fmt.Sprintf(goodRow, "a") + fmt.Sprintf(goodRow, "b")
	writeFile(t, filepath.Join(dir, "in.jsonl"), rows)
	shell(t, dir, "mkdir .packed && gzip -c in.jsonl > .packed/in.jsonl.gz")
	first := batchbus(t, dir, nil, "run", "in.jsonl", "--json")
	first.want(t, 0)
	job := first.summary(t).Job
	for _, line := range []string{
		"batchbus run --data .batchbus .", // its own answers are in it
		"batchbus run 'in*.jsonl'", "batchbus run .packed", "batchbus run '.pack*/*'", "cat in.jsonl | batchbus run -", "gzip -c in.jsonl | batchbus run -",
		"batchbus submit --data .batchbus - < in.jsonl",
	} {
		if out := shell(t, dir, line); !strings.Contains(out, "job "+job) || !strings.Contains(out, "the job is complete already") {
			t.Errorf("%s is another job than %s:\n%s", line, job, out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "batchbus-stdin-*")); left != nil {
		t.Errorf("standard input is left behind: %v", left)
	}
}

func TestValidateReadsFoldersPatternsAndPipes(t *testing.T) {
	t.Parallel()
	dir := fileFolder(t)
	for line, want := range map[string]string{
		"batchbus validate data": "2 rows: 0 bad", "batchbus validate 'data/*.jsonl'": "2 rows: 0 bad", "cat data/one.jsonl | batchbus validate -": "1 rows: 0 bad",
		"cat broken.jsonl | batchbus validate - # exit 2": "-:2:2: error: invalid_json", "gzip -c rows.jsonl > z && batchbus validate z": "6 rows: 0 bad",
	} {
		if out := shell(t, dir, line); !strings.Contains(out, want) {
			t.Errorf("%s does not say %q:\n%s", line, want, out)
		}
	}
}

func TestBashCompletesTheRealCommandLine(t *testing.T) {
	t.Parallel()
	dir := fileFolder(t)
	for words, want := range map[string]string{
		"batchbus qu":             "queues",
		"batchbus queues p":       "put",
		"batchbus run --simulat":  "--simulate",
		"batchbus prepare --add":  "--add-ids",
		"batchbus stats rows.j":   "rows.jsonl",
		"batchbus run --data pic": "pictures",
		"batchbus status ro":      "",
	} {
		out := shell(t, dir, `source <(batchbus completion bash); COMP_WORDS=(`+words+`); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _batchbus; echo "${COMPREPLY[@]}"`)
		if first, _, _ := strings.Cut(strings.TrimSpace(out), " "); first != want {
			t.Errorf("%s is completed by %q, want %q", words, out, want)
		}
	}
	batchbus(t, dir, nil, "completion", "ksh").want(t, 2, "not bash, zsh or fish")
}
