//go:build unix

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
)

func policyFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func jobOf(t *testing.T, o outcome) (j events.JobStatus) {
	t.Helper()
	o.want(t, 0)
	if err := json.Unmarshal([]byte(o.stdout), &j); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestAQueuesPolicyIsPutShownListedAndObeyed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	do := func(args ...string) outcome { return batchbus(t, dir, nil, append(args, "--data", ".batchbus")...) }
	batchbus(t, dir, nil, "run", examples(t)).want(t, 1)
	do("queues", "get", "night").want(t, 0, "default policy")
	do("queues", "put", "night", "--set", "window=1h", "--set", "retry.max_attempts=3", "--set", "default_model=model-of-the-queue").want(t, 0, "from now on")
	shown := do("queues", "get", "night")
	shown.want(t, 0)
	for field, line := range map[string]string{"window": `"1h" own`, "retry.max_attempts": "3 own", "retry.on": `["missing_result","expired"]`, "key": `"default"`} {
		if !strings.Contains(strings.Join(strings.Fields(shown.stdout), " "), field+" "+line) {
			t.Errorf("no %s %s in\n%s", field, line, shown.stdout)
		}
	}
	listed := do("queues", "list", "--json")
	var q events.QueueStatus
	if err := json.Unmarshal([]byte(listed.stdout), &q); err != nil || q.Queue != "night" || q.Policy.Window != "1h" {
		t.Errorf("%s, %v", listed.stdout, err)
	}
	rows := policyFile(t, dir, "rows.jsonl", `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"hi"}]}}`+"\n")
	batchbus(t, dir, nil, "run", rows, "--job", "plain").want(t, 2, "no valid row")
	batchbus(t, dir, nil, "run", rows, "--queue", "night", "--job", "nightly", "--retry-on", "failed,expired", "--retry-attempts", "5").want(t, 0, "policy of its own")
	j := jobOf(t, do("status", "nightly", "--queue", "night", "--json"))
	if j.Policy.Window != "1h" || j.Policy.Retry.MaxAttempts != 5 || strings.Join(j.Policy.Retry.On, " ") != "failed expired" ||
		len(j.Batches) != 1 || j.Batches[0].Model != "model-of-the-queue" || j.Batches[0].Window != "1h" {
		t.Errorf("%+v", j)
	}
	batchbus(t, dir, nil, "run", rows, "--queue", "night", "--job", "nightly", "--retry-attempts", "2").want(t, 2, "another policy")
	do("queues", "put", "night", "--unset", "window", "--unset", "retry").want(t, 0)
	if got := do("queues", "get", "night", "--json"); !strings.Contains(got.stdout, `"default_model": "model-of-the-queue"`) || strings.Contains(got.stdout, `"window": "1h"`) {
		t.Errorf("after unset: %s", got.stdout)
	}
	do("queues", "put", "night", "--file", policyFile(t, dir, "policy.json", "{}")).want(t, 0, "default policy")
	if got := do("queues", "list", "--json"); got.stdout != "" {
		t.Errorf("listed: %s", got.stdout)
	}
}

func TestEveryFaultOfAPolicyIsSaidAndNothingIsPut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	batchbus(t, dir, nil, "run", examples(t)).want(t, 1)
	for _, c := range []struct {
		args  []string
		parts []string
	}{
		{[]string{"night", "--set", "windw=1h", "--set", "retry.max_attempts=many", "--unset", "colour", "--set", "x"}, []string{"windw", "many", "colour", "FIELD=VALUE"}},
		{[]string{"a b", "--set", "window=1h"}, []string{"QUEUE"}},
		{[]string{"night"}, []string{"--set"}},
		{[]string{"night", "--set", "window=7h", "--set", "key=a b", "--set", "retry.on=sometimes"}, []string{"window: ", "\nbatchbus: key: ", "retry.on: "}},
		{[]string{"night", "--file", "none.json"}, []string{"--file"}},
	} {
		batchbus(t, dir, nil, append(append([]string{"queues", "put"}, c.args...), "--data", ".batchbus")...).want(t, 2, c.parts...)
	}
	if got := batchbus(t, dir, nil, "queues", "list", "--json", "--data", ".batchbus"); got.stdout != "" {
		t.Errorf("put: %s", got.stdout)
	}
	batchbus(t, dir, nil, "run", examples(t), "--retry-on", "sometimes", "--retry-attempts", "11", "--key", "a.b").want(t, 2, "--retry-on: ", "--retry-attempts: ", "--key: ")
}

func TestAJobIsOpenedWithOptionsOfItsOwnAndItsQueueIsPaused(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	open := []string{"jobs", "open", "nightly", "--window", "1h", "--model", "m", "--set", "body.temperature=0", "--set", "models=m", "--retry-attempts", "3", "--json"}
	d.do(t, "queues", "pause", "default", "--reason", "a test").want(t, 0, "paused")
	for range 2 {
		j := jobOf(t, d.do(t, open...))
		if j.Job != "nightly" || j.Policy.Window != "1h" || j.Policy.DefaultModel != "m" || len(j.Policy.Set) != 1 || j.Policy.Retry.MaxAttempts != 3 {
			t.Errorf("%+v", j.Policy)
		}
	}
	d.do(t, "jobs", "open", "nightly", "--window", "24h").want(t, 2, "choose another name")
	d.do(t, "jobs", "open", "auto-x").want(t, 2)
	d.do(t, "jobs", "open", "odd", "--set", "linger_seconds=5", "--set", "colour=red").want(t, 2, "colour")
	d.publish(t, "batchbus.requests.default.nightly", `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"hi"}]}}`, "Batchbus-Seal", "true")
	waitUntil(t, d.process, "the batch waits for its queue", func() bool {
		return strings.Contains(d.do(t, "status", "nightly").stdout, "queue_held")
	})
	if got := d.do(t, "queues", "get", "default"); !strings.Contains(got.stderr, "paused: a test") {
		t.Errorf("%s", got.stderr)
	}
	d.do(t, "resume", "--queue", "default").want(t, 2, "queues resume default")
	d.do(t, "wait", "nightly", "--timeout", "1m").want(t, 2, "paused: a test (batchbus queues resume default)")
	d.do(t, "queues", "resume", "default").want(t, 0, "not paused")
	d.do(t, "wait", "nightly", "--timeout", "1m").want(t, 0)
}
