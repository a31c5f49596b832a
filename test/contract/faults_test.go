package contract_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// switchRow is a row of the table of switches: its first cell is the kind.
var switchRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (call|batch|row) \\|")

func TestEverySwitchOfTheSimulatorIsExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/provider.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []simulator.FaultKind
	for _, row := range switchRow.FindAllSubmatch(page, -1) {
		kind := simulator.FaultKind(row[1])
		if slices.Contains(told, kind) {
			t.Errorf("%s stands twice", kind)
		}
		told = append(told, kind)
		if !slices.Contains(simulator.FaultKinds(), kind) {
			t.Errorf("there is no switch %s", kind)
		}
	}
	for _, kind := range simulator.FaultKinds() {
		if !slices.Contains(told, kind) {
			t.Errorf("docs/provider.md does not explain %s", kind)
		}
	}
}
