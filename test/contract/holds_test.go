package contract_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestTheOperationsPageNamesTheCommandsThatEndEachHold(t *testing.T) {
	t.Parallel()
	rows := rowsOf(operations(t))
	found := 0
	for _, c := range constants(t, "../../pkg/events") {
		if !strings.HasPrefix(c.name, "Hold") {
			continue
		}
		found++
		var want []string
		for _, kind := range events.Endings(c.value) {
			want = append(want, string(kind))
		}
		if want == nil {
			want = []string{"itself"}
		}
		cells := strings.Split(strings.Trim(rows[c.value], "| "), " | ")
		if len(cells) != 4 || !slices.Equal(strings.Split(cells[2], ", "), want) {
			t.Errorf("docs/operations.md says of %s %q, and the code %v", c.value, cells, want)
		}
	}
	if found < 10 {
		t.Errorf("only %d holds were found: the test looks in the wrong place", found)
	}
}
