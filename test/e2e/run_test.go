//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func examples(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../examples/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheExamplesEndWithTheRightOutcomeForEachRow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := batchbus(t, dir, nil, "run", examples(t), "--json")
	o.want(t, 1, "SIMULATED")
	s := o.summary(t)
	if !s.Simulated || s.Rows.Total != 20 || s.Rows.Succeeded != 18 || s.Rows.Failed != 1 || s.Rows.Rejected != 1 || s.Truncated == 0 {
		t.Errorf("summary %+v", s)
	}
	byID := map[string]map[string]any{}
	for _, file := range []string{s.OutputFile, s.ErrorsFile} {
		for _, line := range lines(t, filepath.Join(dir, file)) {
			byID[line["custom_id"].(string)] = line
		}
	}
	if len(byID) != 20 {
		t.Errorf("%d custom_ids answered, want 20", len(byID))
	}
	failed, refused := byID["fails-when-run-001"], byID["refused-here-001"]
	if failed["outcome"] != "failed" || failed["status_code"] != 400.0 {
		t.Errorf("the failing row: %v", failed)
	}
	reason := refused["error"].(map[string]any)
	if refused["outcome"] != "rejected" || reason["code"] != "url_not_allowed" || reason["line"] != 15.0 {
		t.Errorf("the refused row: %v", refused)
	}
	if byID["Ticket #4711 / élève"]["outcome"] != "succeeded" {
		t.Error("a custom_id with spaces and accents has no answer")
	}
	for _, file := range []string{s.OutputFile, s.ErrorsFile, ".batchbus/lock"} {
		info, err := os.Stat(filepath.Join(dir, file))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v, want mode 0600", file, info.Mode(), err)
		}
	}
	if ignore, err := os.ReadFile(filepath.Join(dir, ".batchbus", ".gitignore")); err != nil || string(ignore) != "*\n" {
		t.Errorf(".gitignore: %q %v", ignore, err)
	}
}

func TestTheSameCommandAgainWritesTheSameResultsAndPaysForNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := batchbus(t, dir, nil, "run", examples(t), "--json").summary(t)
	second := batchbus(t, dir, nil, "run", examples(t), "--json")
	second.want(t, 1, "complete already")
	s := second.summary(t)
	if s.Job != first.Job || s.Rows != first.Rows {
		t.Errorf("first %+v, second %+v", first, s)
	}
	for i, b := range s.Batches {
		if b.ProviderBatchID != first.Batches[i].ProviderBatchID {
			t.Errorf("batch %s: %s, was %s", b.N, b.ProviderBatchID, first.Batches[i].ProviderBatchID)
		}
	}
	if ledger := readLedger(t, dir); len(ledger.Creates) != len(first.Batches) || ledger.RowsRun != 19 {
		t.Errorf("%d creates and %d rows run for %d batches and 19 rows", len(ledger.Creates), ledger.RowsRun, len(first.Batches))
	}
}

func TestEveryRowSucceededIsExitCode0(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"), fmt.Sprintf(goodRow, "a")+"\n\n"+strings.TrimSuffix(fmt.Sprintf(goodRow, "b"), "\n"))
	o := batchbus(t, dir, nil, "run", file, "--json", "--out", "here", "--job", "nightly")
	o.want(t, 0)
	if s := o.summary(t); s.Rows.Total != 2 || s.Job != "nightly" || s.OutputFile != filepath.Join("here", "output.jsonl") {
		t.Errorf("summary %+v", s)
	}
}

func TestBadInputHasOneClearMessageAndExitCode2(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := writeFile(t, filepath.Join(dir, "empty.jsonl"), "\n \n")
	bad := writeFile(t, filepath.Join(dir, "bad.jsonl"), "{\"custom_id\":\"a\"}\nnot json\n")
	pretty := writeFile(t, filepath.Join(dir, "pretty.jsonl"), "{\n  \"custom_id\": \"a\",\n  \"method\": \"POST\"\n}\n")
	utf16 := writeFile(t, filepath.Join(dir, "utf16.jsonl"), "\xff\xfe{\x00}\x00")
	good := writeFile(t, filepath.Join(dir, "good.jsonl"), fmt.Sprintf(goodRow, "a"))
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"an empty file":          {[]string{"run", empty}, []string{"no rows"}},
		"a missing file":         {[]string{"run", filepath.Join(dir, "absent.jsonl")}, []string{"no such file"}},
		"a folder without rows":  {[]string{"run", t.TempDir()}, []string{"no files of rows in folder"}},
		"nothing for a pattern":  {[]string{"run", filepath.Join(dir, "*.csv")}, []string{"no files of rows match"}},
		"nothing from a pipe":    {[]string{"run", "-"}, []string{"no rows"}},
		"no valid row":           {[]string{"run", bad}, []string{"no valid row among 2", "bad.jsonl:1"}},
		"a pretty-printed file":  {[]string{"run", pretty}, []string{"no valid row", "prepare"}},
		"another encoding":       {[]string{"run", utf16}, []string{"UTF-16"}},
		"an unknown flag":        {[]string{"run", good, "--frobnicate"}, []string{"unknown flag --frobnicate"}},
		"no file at all":         {[]string{"run"}, []string{"<file>"}},
		"no command":             {nil, []string{"batchbus --help"}},
		"several faults at once": {[]string{"run", good, "--window", "7h", "--job", "a b", "--timeout=-1s", "--format", "xml"}, []string{"--window", "--job", "--timeout", "--format"}},
		"a job of batchbus":      {[]string{"run", good, "--job", "auto-x"}, []string{"auto-"}},
		"a pipe":                 {[]string{"run", fifo}, []string{"save it to a file first"}},
		"too small a store":      {[]string{"run", good, "--max-store", "1000"}, []string{"--max-store"}},
		"bad times and rates":    {[]string{"run", good, "--poll-floor=-1s", "--simulator-rate=-5"}, []string{"--poll-floor", "--simulator-rate"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := batchbus(t, t.TempDir(), nil, c.args...)
			o.want(t, 2, c.says...)
			if strings.Contains(o.stderr, "goroutine") || strings.Contains(o.stderr, "panic") {
				t.Errorf("it panics: %s", o.stderr)
			}
		})
	}
}

func TestHelpIsExitCode0(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"validate", "--help"}, {"version"}} {
		if o := batchbus(t, t.TempDir(), nil, args...); o.code != 0 || o.stdout == "" {
			t.Errorf("%v: code %d, stdout %q, stderr %q", args, o.code, o.stdout, o.stderr)
		}
	}
}

func TestABadRowAmongGoodOnesCostsItsNeighboursNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"), fmt.Sprintf(goodRow, "a")+"{\"custom_id\" oops}\n"+fmt.Sprintf(goodRow, "a")+fmt.Sprintf(goodRow, "b"))
	o := batchbus(t, dir, nil, "run", file, "--json", "--format", "openai")
	o.want(t, 1, "rows.jsonl:2")
	s := o.summary(t)
	if s.Rows.Total != 4 || s.Rows.Succeeded != 2 || s.Rows.DeadLetters != 2 {
		t.Fatalf("summary %+v", s)
	}
	codes := map[string]any{}
	for _, line := range lines(t, filepath.Join(dir, s.ErrorsFile)) {
		codes[line["error"].(map[string]any)["code"].(string)] = line["line"]
	}
	if codes["invalid_json"] != 2.0 || codes["duplicate"] != 3.0 {
		t.Errorf("dead letters by code and line: %v", codes)
	}
}

func TestAnOutputFolderHoldsOneJobsResults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"), fmt.Sprintf(goodRow, "a"))
	batchbus(t, dir, nil, "run", file, "--out", "out", "--job", "one").want(t, 0)
	batchbus(t, dir, nil, "run", file, "--out", "out", "--job", "two").want(t, 2, "job one", "--out")
	url, stop := realProvider(t, "k")
	defer stop()
	o := batchbus(t, dir, []string{"DOUBLEWORD_API_KEY=k"}, "run", file, "--out", "out", "--job", "one", "--provider-url", url, "--data", "other")
	o.want(t, 2, "SIMULATED", "--out")
}

func TestADataDirectoryServesOneProvider(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"), fmt.Sprintf(goodRow, "a"))
	batchbus(t, dir, nil, "run", file).want(t, 0)
	url, stop := realProvider(t, "the-key")
	defer stop()
	o := batchbus(t, dir, []string{"DOUBLEWORD_API_KEY=the-key"}, "run", file, "--provider-url", url)
	o.want(t, 2, "serves the provider simulator", "--data")
}
