//go:build unix

package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAnIDThatIsTooLongIsADeadLetterEverywhere: an id of 1,024 bytes is answered, one of 1,025 is refused in the same words by each command.
func TestAnIDThatIsTooLongIsADeadLetterEverywhere(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	row := func(id string) string { return strings.Replace(goodRow, "%s", id, 1) }
	longest, tooLong := strings.Repeat("k", 1024), strings.Repeat("k", 1025)
	file := writeFile(t, filepath.Join(d.dir, "ids.jsonl"), row(longest)+row(tooLong))
	const words = "custom_id has 1025 bytes, the limit is 1024"
	check := batchbus(t, d.dir, nil, "validate", file)
	check.want(t, 2)
	if !strings.Contains(check.stdout, "ids.jsonl:2:14: error: custom_id_too_long: "+words) || !strings.Contains(check.stdout, "dead letter") ||
		!strings.Contains(check.stdout, "2 rows: 1 bad") {
		t.Errorf("validate says %s", check.stdout)
	}
	submitted := d.do(t, "submit", file, "--job", "ids")
	submitted.want(t, 0)
	if !strings.Contains(submitted.stderr, words) || !strings.Contains(submitted.stderr, "dead letter") {
		t.Errorf("submit says %s", submitted.stderr)
	}
	d.do(t, "wait", "ids", "--timeout", "1m").want(t, 1)
	results := d.do(t, "results", "ids")
	if strings.Count(results.stdout, "\n") != 2 || !strings.Contains(results.stdout, `{"custom_id":"`+longest+`","queue"`) ||
		!strings.Contains(results.stdout, `{"outcome":"dead_letter","code":"custom_id_too_long"`) {
		t.Errorf("results are %s", strings.ReplaceAll(results.stdout, longest, "…"))
	}
	list := d.do(t, "deadletters", "list", "--job", "ids")
	if !strings.Contains(list.stdout, "deadletter") || !strings.Contains(list.stdout, "custom_id_too_long") || !strings.Contains(list.stdout, words) {
		t.Errorf("list says %s", list.stdout)
	}
	d.proven(t, "ids")
}
