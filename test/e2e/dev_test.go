//go:build unix

package e2e_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAJobIsSubmittedWatchedReadAndForgotten(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	o := d.do(t, "submit", examples(t), "--job", "nightly", "--json")
	o.want(t, 0, "job nightly", "submitted")
	digest := decode[struct {
		Rows        int    `json:"rows"`
		InputSHA256 string `json:"input_sha256"`
	}](t, o)
	if !strings.HasPrefix(o.stderr, "batchbus: job nightly") || digest.Rows != 20 {
		t.Errorf("rows %d, stderr %s", digest.Rows, o.stderr)
	}
	watched := d.do(t, "watch", "nightly")
	watched.want(t, 1)
	for _, kind := range []string{"job.opened", "batch.submitted", "batch.settled", "job.completed"} {
		if !strings.Contains(watched.stdout, kind) {
			t.Errorf("watch does not tell of %s:\n%s", kind, watched.stdout)
		}
	}
	waited := d.do(t, "wait", "nightly", "--timeout", "1m", "--json")
	waited.want(t, 1)
	if s := waited.summary(t); s.Rows.Total != 20 || s.Rows.Succeeded != 18 || s.Rows.Failed != 1 || s.Rows.Rejected != 1 {
		t.Errorf("wait says %+v", s.Rows)
	}
	status := d.do(t, "status", "nightly", "--json")
	status.want(t, 0)
	job := decode[jobStatus](t, status)
	if job.State != "completed" || job.InputSHA256 != digest.InputSHA256 || len(job.InputSHA256) != 64 || job.Totals.Succeeded != 18 || len(job.Batches) == 0 {
		t.Errorf("status %+v", job)
	}
	byID := d.do(t, "status", job.Batches[0].ProviderBatchID, "--json")
	byID.want(t, 0)
	if decode[jobStatus](t, byID).Job != "nightly" {
		t.Errorf("by the provider's id: %s", byID.stdout)
	}
	d.wantResults(t)
	d.do(t, "status", "nightly").want(t, 0)

	forgotten := d.do(t, "forget", "nightly")
	forgotten.want(t, 0)
	if !strings.Contains(forgotten.stdout, job.Batches[0].ProviderBatchID) {
		t.Errorf("forget does not say what remains: %s", forgotten.stdout)
	}
	gone := d.do(t, "results", "nightly")
	gone.want(t, 0, "forgotten")
	if gone.stdout != "" || decode[jobStatus](t, d.do(t, "status", "nightly", "--json")).ForgottenAt == "" {
		t.Errorf("after forget there are results: %s", gone.stdout)
	}
	d.do(t, "submit", examples(t), "--job", "nightly").want(t, 2, "was forgotten")
}

// wantResults checks the results command on the examples.
func (d *dev) wantResults(t *testing.T) {
	t.Helper()
	printed := d.do(t, "results", "nightly", "--follow")
	printed.want(t, 0)
	if n := strings.Count(printed.stdout, "\n"); n != 20 {
		t.Errorf("%d lines of results", n)
	}
	d.do(t, "results", "nightly", "--out", "here", "--format", "openai").want(t, 0)
	good, bad := lines(t, filepath.Join(d.dir, "here", "output.jsonl")), lines(t, filepath.Join(d.dir, "here", "errors.jsonl"))
	if len(good) != 18 || len(bad) != 2 || good[0]["response"] == nil {
		t.Errorf("%d and %d lines in files", len(good), len(bad))
	}
	d.do(t, "results", "nightly", "--format", "xml").want(t, 2, "--format")
}

func TestSubmitAndWaitWritesFilesAsRunDoes(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	o := d.do(t, "submit", examples(t), "--wait", "--json")
	o.want(t, 1)
	s := o.summary(t)
	good, bad := lines(t, filepath.Join(d.dir, s.OutputFile)), lines(t, filepath.Join(d.dir, s.ErrorsFile))
	if s.Rows.Succeeded != 18 || len(good) != 18 || len(bad) != 2 {
		t.Errorf("%+v, %d and %d lines", s.Rows, len(good), len(bad))
	}
	d.do(t, "submit", examples(t), "--window", "1h", "--job", s.Job).want(t, 2, "is there already", "window")
}

func TestAJobIsSealedAndCancelledByCommand(t *testing.T) {
	t.Parallel()
	d := startDev(t, "--simulator-latency", "1h")
	const row = `{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"x"}}`
	d.publish(t, "batchbus.requests.default.open", row)
	waitUntil(t, d.process, "the job is open", func() bool { return d.do(t, "status", "open").code == 0 })
	d.do(t, "forget", "open").want(t, 2, "must be completed")
	d.do(t, "wait", "open", "--timeout", "1s").want(t, 2, "timeout reached", "job goes on")
	d.do(t, "seal", "open", "--expected-rows", "1").want(t, 0, "on its way")
	waitUntil(t, d.process, "the job is sealed", func() bool {
		return decode[jobStatus](t, d.do(t, "status", "open", "--json")).State == "planned"
	})
	d.do(t, "cancel", "open").want(t, 0, "on its way")
	d.do(t, "wait", "open", "--timeout", "1m").want(t, 1, "cancelled 1")
	d.do(t, "cancel", "open").want(t, 0, "no difference")
	listed := d.do(t, "list", "--json")
	listed.want(t, 0)
	if job := decode[jobStatus](t, listed); job.Job != "open" || job.State != "completed" {
		t.Errorf("the list is %s", listed.stdout)
	}
	if table := d.do(t, "list"); !strings.Contains(table.stdout, "open") || table.code != 0 {
		t.Errorf("the table is %s", table.stdout)
	}
}

func TestAnUnknownJobIsOneClearMessageAndExitCode2(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	for _, command := range []string{"status", "wait", "watch", "results", "seal", "cancel", "forget", "resume"} {
		o := d.do(t, command, "absent")
		o.want(t, 2, "no job absent")
		if o.stdout != "" || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: %s%s", command, o.stdout, o.stderr)
		}
	}
}

func TestWhatCannotBeIsRefusedBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	for name, c := range map[string]struct{ args, says []string }{
		"a timeout of nothing":      {[]string{"submit", examples(t), "--wait", "--timeout", "0s"}, []string{"--timeout"}},
		"a negative timeout":        {[]string{"wait", "x", "--timeout=-1s"}, []string{"--timeout"}},
		"no finite timeout":         {[]string{"watch", "x", "--timeout", "inf"}, []string{"--timeout"}},
		"two buses":                 {[]string{"list", "--data", dir, "--nats", "nats://127.0.0.1:1"}, []string{"exclude each other"}},
		"a server that is not":      {[]string{"list", "--nats", "nats://127.0.0.1:1"}, []string{"127.0.0.1:1"}},
		"a folder that is not":      {[]string{"status", "x", "--data", missing}, []string{"no data directory"}},
		"a folder to serve":         {[]string{"wait", "x", "--data", missing}, []string{"no data directory"}},
		"an address that is none":   {[]string{"dev", "--listen", "4222"}, []string{"--listen"}},
		"a batch without its job":   {[]string{"batch", "adopt", "1"}, []string{"QUEUE/JOB/N"}},
		"a batch of a deep job":     {[]string{"batch", "abandon", "a/b/c/1"}, []string{"QUEUE/JOB/N"}},
		"a resume of nothing":       {[]string{"resume"}, []string{"--queue"}},
		"a batch to resume":         {[]string{"resume", "--queue", "default", "--batch", "1"}, []string{"--batch"}},
		"two ways to resume":        {[]string{"resume", "x", "--batch", "1", "--code", "refused"}, []string{"exclude each other"}},
		"a submission without rows": {[]string{"submit", dir}, []string{"no files of rows"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			batchbus(t, t.TempDir(), nil, c.args...).want(t, 2, c.says...)
			if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a folder was made: %v", err)
			}
		})
	}
}

func TestADataFolderIsWorkedOnWithoutAServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(args ...string) outcome { return batchbus(t, dir, nil, append(args, "--data", "store")...) }
	at("submit", examples(t), "--job", "later").want(t, 0, "job later")
	waiting := at("status", "later", "--json")
	waiting.want(t, 0)
	if job := decode[jobStatus](t, waiting); job.State != "open" || len(job.Batches) > 0 {
		t.Errorf("without services it is %+v", job)
	}
	at("wait", "later", "--timeout", "1m").want(t, 1, "SIMULATED", "succeeded 18")
	at("watch", "later").want(t, 1)
	at("results", "later").want(t, 0)
	at("list").want(t, 0)
	o := batchbus(t, dir, []string{"DOUBLEWORD_API_KEY=k"}, "wait", "later", "--data", "store")
	o.want(t, 2, "serves the provider simulator")
	at("forget", "later").want(t, 0)
}

func TestDevHoldsItsFolderAndSaysHowToUseItAndThatItIsSimulated(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	batchbus(t, d.dir, nil, "list", "--data", ".batchbus").want(t, 2, "in use by process")
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	o := d.wait(t)
	o.want(t, 130, "SIMULATED", "interrupt")
	for _, text := range []string{d.url, "pub -J --no-templates", "Batchbus-Seal:true", "batchbus.results.default.my-job.>"} {
		if !strings.Contains(o.stdout, text) {
			t.Errorf("it does not say %q:\n%s", text, o.stdout)
		}
	}
}

// This uses nothing of ours but the running dev and the subjects.
func TestAUserWithNothingButNATSIsServedByDev(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	nc := d.connect(t)
	results, err := nc.SubscribeSync("batchbus.results.default.by-hand.>")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const row = `{"custom_id":"case-ID","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"{{.Not a template}}"}]}}`
	for _, id := range []string{"1", "2"} {
		d.publish(t, "batchbus.requests.default.by-hand", strings.Replace(row, "ID", id, 1))
	}
	d.publish(t, "batchbus.requests.default.by-hand", "", "Batchbus-Seal", "true")
	var subjects []string
	for range 2 {
		m, err := results.NextMsgWithContext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get("Batchbus-Outcome") != "succeeded" {
			t.Errorf("%s", m.Data)
		}
		subjects = append(subjects, m.Subject)
	}
	slices.Sort(subjects)
	if want := []string{"batchbus.results.default.by-hand.case-1", "batchbus.results.default.by-hand.case-2"}; !slices.Equal(subjects, want) {
		t.Errorf("results on %v", subjects)
	}
	answer, err := nc.RequestWithContext(ctx, "batchbus.api.jobs.get", []byte(`{"job":"by-hand"}`))
	if err != nil || !strings.Contains(string(answer.Data), `"job":"by-hand"`) {
		t.Errorf("the control API: %v", err)
	}
	letters, err := nc.SubscribeSync("batchbus.deadletters.default.by-hand.>")
	if err != nil {
		t.Fatal(err)
	}
	d.publish(t, "batchbus.requests.default.by-hand", row) // behind the seal
	m, err := letters.NextMsgWithContext(ctx)
	if err != nil || m.Header.Get("Batchbus-Code") != "job_sealed" {
		t.Errorf("a row behind the seal: %v", err)
	}
}
