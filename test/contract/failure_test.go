package contract_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/failpoint"
)

// pointRows are the rows of the table of crash points as docs/failure-model.md has to show them.
func pointRows() string {
	var text strings.Builder
	for _, e := range failpoint.Table() {
		fmt.Fprintf(&text, "| `%s` | %s | %s |\n", e.Point, e.Stands, e.Repair)
	}
	return text.String()
}

func TestTheFailureModelShowsEveryCrashPoint(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/failure-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "<!-- failpoints:")
	_, table, _ := strings.Cut(after, "|---|---|---|\n")
	shown, _, _ := strings.Cut(table, "\n\n")
	if want := pointRows(); strings.TrimSpace(shown) != strings.TrimSpace(want) {
		t.Errorf("the table of crash points should be:\n%s", want)
	}
}

func TestEveryPointIsInTheTableOnceAndSaysWhatItMust(t *testing.T) {
	t.Parallel()
	seen := map[failpoint.Point]bool{}
	for _, e := range failpoint.Table() {
		if parts := strings.SplitN(string(e.Point), ".", 3); len(parts) != 3 || seen[e.Point] || e.Stands == "" || e.Repair == "" {
			t.Errorf("the point %+v is not as it must be", e)
		}
		seen[e.Point] = true
	}
}
