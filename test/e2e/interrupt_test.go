//go:build unix

package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// big is the job of the acceptance test: 120,000 rows of 1 KB.
const bigRows = 120_000

func bigFile(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "big.jsonl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(file, 1<<20)
	filler := strings.Repeat("All work and no play makes a dull batch. ", 20)
	for i := range bigRows {
		fmt.Fprintf(w, `{"custom_id":"row-%06d","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"%d %s"}],"max_tokens":32}}`+"\n", i, i, filler)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantBig checks that every row of the big job has its answer once.
func wantBig(t *testing.T, dir string, o outcome) {
	t.Helper()
	o.want(t, 0)
	s := o.summary(t)
	if len(s.Batches) != 3 || s.Rows.Total != bigRows || s.Rows.Succeeded != bigRows {
		t.Errorf("%d batches, rows %+v", len(s.Batches), s.Rows)
	}
	data, err := os.ReadFile(filepath.Join(dir, s.OutputFile))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool, bigRows)
	for line := range bytes.Lines(data) {
		id, _, _ := strings.Cut(strings.TrimPrefix(string(line[:64]), `{"custom_id":"`), `"`)
		seen[id] = true
	}
	if lines := bytes.Count(data, []byte("\n")); lines != bigRows || len(seen) != bigRows {
		t.Errorf("%d lines with %d ids, want %d", lines, len(seen), bigRows)
	}
	ledger := readLedger(t, dir)
	if len(ledger.Creates) != 3 || ledger.RowsRun != bigRows {
		t.Errorf("the ledger has %d creates and %d rows run, want 3 and %d", len(ledger.Creates), ledger.RowsRun, bigRows)
	}
}

//nolint:paralleltest // its memory and time are measured
func TestABigJobIsThreeBatchesInBoundedMemory(t *testing.T) {
	dir := t.TempDir()
	began := time.Now()
	o := batchbus(t, dir, nil, "run", bigFile(t, dir), "--json")
	wantBig(t, dir, o)
	t.Logf("%d rows in %s, peak memory %d MiB", bigRows, time.Since(began).Round(time.Millisecond), o.peak>>20)
	if o.peak > 500<<20 {
		t.Errorf("peak memory %d MiB, want at most 500", o.peak>>20)
	}
}

//nolint:paralleltest // it needs the machine for itself to be stopped in the middle
func TestABigJobSurvivesKillsAndCtrlC(t *testing.T) {
	dir := t.TempDir()
	file := bigFile(t, dir)
	slow := []string{"run", file, "--json", "--simulator-rate", "5000"}

	publishing := start(t, dir, nil, slow...)
	waitUntil(t, publishing, "rows reach the bus", func() bool { return folderSize(filepath.Join(dir, ".batchbus", "nats")) > 20<<20 })
	if err := publishing.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	publishing.wait(t).want(t, 137)

	collecting := start(t, dir, nil, slow...)
	waitUntil(t, collecting, "results arrive", func() bool { return folderSize(filepath.Join(dir, "batchbus-out")) > 1<<20 })
	if err := collecting.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	collecting.wait(t).want(t, 137)

	if err := os.RemoveAll(filepath.Join(dir, "batchbus-out")); err != nil { // or the wait below is for what the run before left
		t.Fatal(err)
	}
	interrupted := start(t, dir, nil, slow...)
	waitUntil(t, interrupted, "it resumes", func() bool { return folderSize(filepath.Join(dir, "batchbus-out")) > 1<<20 })
	if err := interrupted.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	interrupted.wait(t).want(t, 130, "same command resumes")

	wantBig(t, dir, batchbus(t, dir, nil, slow...))
}

func TestSIGTERMIsExitCode143AndKeepsWhatArrived(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, nil, "run", examples(t), "--simulator-rate", "1", "--out", "out")
	waitUntil(t, p, "a result arrives", func() bool { return folderSize(filepath.Join(dir, "out")) > 0 })
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait(t).want(t, 143, "same command resumes")
	if kept := lines(t, filepath.Join(dir, "out", "errors.jsonl.partial")); len(kept) == 0 {
		t.Error("the partial file holds nothing")
	}
	batchbus(t, dir, nil, "run", examples(t), "--out", "out").want(t, 1)
}

func TestATimeoutIsExitCode2AndTheJobGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	batchbus(t, dir, nil, "run", examples(t), "--simulator-latency", "1h", "--timeout", "2s").want(t, 2, "timeout reached", "resumes")
}

func TestABusyDataDirectoryNamesItsHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, nil, "run", examples(t), "--simulator-latency", "1h")
	defer p.stop()
	waitUntil(t, p, "it holds the directory", func() bool {
		_, err := os.Stat(filepath.Join(dir, ".batchbus", "holder.json"))
		return err == nil
	})
	batchbus(t, dir, nil, "run", examples(t)).want(t, 2, fmt.Sprintf("process %d", p.cmd.Process.Pid), "--data")
	_ = p.cmd.Process.Kill()
	p.wait(t)
}

func TestAWrongKeyIsExitCode2AndTheRightOneGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, stop := realProvider(t, "the-right-key")
	defer stop()
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"), fmt.Sprintf(goodRow, "a"))
	o := batchbus(t, dir, []string{"DOUBLEWORD_API_KEY=sk-wrong-one"}, "run", file, "--provider-url", url)
	o.want(t, 2, "refuses the API key", "nothing was published")
	if strings.Contains(o.stderr+o.stdout, "sk-wrong-one") {
		t.Error("the key is printed")
	}
	key := writeFile(t, filepath.Join(dir, "key"), "the-right-key\n")
	o = batchbus(t, dir, []string{"DOUBLEWORD_API_KEY_FILE=" + key, "BATCHBUS_POLL_FLOOR=1s"}, "run", file, "--provider-url", url)
	o.want(t, 0, "not de-identified")
	if strings.Contains(o.stderr, "SIMULATED") {
		t.Error("a real provider's run calls itself simulated")
	}
}

func TestAURLThatIsNoBatchProvidersIsExitCode2(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, stop := realProvider(t, "k")
	defer stop()
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"), fmt.Sprintf(goodRow, "a"))
	o := batchbus(t, dir, []string{"DOUBLEWORD_API_KEY=k"}, "run", file, "--provider-url", strings.TrimSuffix(url, "/v1"))
	o.want(t, 2, "nothing was published", "/v1")
}

func TestADeadProviderIsExitCode2(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, stop := realProvider(t, "k")
	stop()
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"), fmt.Sprintf(goodRow, "a"))
	batchbus(t, dir, []string{"DOUBLEWORD_API_KEY=k"}, "run", file, "--provider-url", url).want(t, 2, "cannot be reached", "nothing was published")
	batchbus(t, dir, []string{"DOUBLEWORD_API_KEY=k"}, "run", file, "--provider-url", "http://example.com/v1").want(t, 2, "--provider-url")
}

func TestAProviderThatAnswersNonsenseIsNotSaidToBeOutOfReach(t *testing.T) {
	t.Parallel()
	for status, says := range map[int]string{
		http.StatusNoContent: "does not answer as a batch provider", http.StatusOK: "does not answer as a batch provider",
		http.StatusBadGateway: "answers with an error",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer server.Close()
		dir := t.TempDir()
		file := writeFile(t, filepath.Join(dir, "rows.jsonl"), fmt.Sprintf(goodRow, "a"))
		o := batchbus(t, dir, []string{"DOUBLEWORD_API_KEY=k"}, "run", file, "--provider-url", server.URL+"/v1")
		o.want(t, 2, says, fmt.Sprint("status ", status), "nothing was published")
	}
}

// waitUntil waits for a condition that another process brings about; there is no signal to wait for across processes but what it leaves
// in the file system.
func waitUntil(t *testing.T, p *process, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			_ = p.cmd.Process.Kill()
			o := p.wait(t)
			t.Fatalf("waiting until %s: two minutes\n%s", what, o.stderr)
		}
	}
}

func folderSize(dir string) (size int64) {
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			size += info.Size()
		}
		return nil
	})
	return size
}
