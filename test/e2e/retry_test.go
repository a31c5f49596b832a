//go:build unix

package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestFailedRowsOfARunAreRetriedByCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	do := func(args ...string) outcome { return batchbus(t, dir, nil, append(args, "--data", ".batchbus")...) }
	batchbus(t, dir, nil, "run", examples(t), "--job", "nightly").want(t, 1)
	do("retry", "nightly").want(t, 2, "no row of job nightly is meant") // the one that failed did so for good
	do("retry", "nightly", "--all", "--only", "x", "--set", "windw=1h", "--to", "a b").want(t, 2, "exclude each other", "windw", "--to")
	first := do("retry", "nightly", "--all", "--set", "window=1h", "--json")
	first.want(t, 0, "sends 1 rows of job nightly once more", "batchbus wait nightly-retry1")
	var done events.Retried
	if err := json.Unmarshal([]byte(first.stdout), &done); err != nil || done.Job != "nightly-retry1" || done.Rows != 1 {
		t.Errorf("%s, %v", first.stdout, err)
	}
	again := do("retry", "nightly", "--all", "--set", "window=1h")
	again.want(t, 0)
	if strings.TrimSpace(again.stdout) != "nightly-retry1" {
		t.Errorf("again: %s", again.stdout)
	}
	do("wait", "nightly-retry1", "--simulate").want(t, 1) // it fails once more: the simulator's rows do by their bodies
	j := jobOf(t, do("status", "nightly-retry1", "--json"))
	if j.Retries == nil || j.Retries.Job != "nightly" || j.Rows != 1 || j.Policy.Window != "1h" || j.Totals.Failed != 1 {
		t.Errorf("%+v", j)
	}
	status := do("status", "nightly-retry1")
	if !strings.Contains(status.stdout, "sends rows of job nightly, queue default, once more") {
		t.Error(status.stdout)
	}
}
