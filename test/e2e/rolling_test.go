//go:build unix

package e2e_test

import (
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
)

// TestARowOfARollingJobIsAwaitedByItsIDAlone: the batch is cut long before the job's window is over, since it may have one row only.
func TestARowOfARollingJobIsAwaitedByItsIDAlone(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	d.do(t, "queues", "put", "calls", "--set", "rolling_rows_per_batch=1", "--set", "models=m").want(t, 0)
	d.do(t, "results", "--row", "call 1", "--queue", "calls").want(t, 2, "no result of row")
	row := `{"custom_id":"call 1","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"x"}}`
	d.publish(t, "batchbus.requests.calls", row)
	d.publish(t, "batchbus.requests.calls", strings.Replace(strings.Replace(row, "call 1", "call 2", 1), `"m"`, `"n"`, 1))
	waited := d.do(t, "wait", "--row", "call 1", "--queue", "calls", "--since", "1h", "--timeout", "1m")
	waited.want(t, 0)
	r := decode[events.Result](t, waited)
	if r.CustomID != "call 1" || !strings.HasPrefix(r.Job, "auto-") || r.Outcome != events.Succeeded {
		t.Errorf("%s", waited.stdout)
	}
	if status := d.do(t, "status", r.Job, "--queue", "calls", "--json"); decode[jobStatus](t, status).State != "open" {
		t.Errorf("the job: %s", status.stdout)
	}
	again := d.do(t, "results", "--row", "call 1", "--queue", "calls", "--format", "openai")
	again.want(t, 0)
	if !strings.Contains(again.stdout, `"custom_id":"call 1"`) || strings.Count(again.stdout, "\n") != 1 {
		t.Errorf("%s", again.stdout)
	}
	if wrong := d.do(t, "wait", r.Job, "--row", "call 2", "--queue", "calls", "--timeout", "1m"); wrong.code != 1 || !strings.Contains(wrong.stdout, "model_not_allowed") {
		t.Errorf("a row that is rejected: %d, %s%s", wrong.code, wrong.stdout, wrong.stderr)
	}
	for _, args := range [][]string{{"wait"}, {"watch"}, {"results"}, {"results", "--row", "x", "--follow"}, {"wait", "--row", "x", "--queue", "a b"}} {
		d.do(t, args...).want(t, 2)
	}
}
