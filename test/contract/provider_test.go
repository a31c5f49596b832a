package contract_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// numberedTroubles are the ids that docs/provider.md must have a row for: what field-reports.md says of empty results, money and polling, the
// provider's behaviours, and the defences of the contract's section 9. The tokens of P58 are about budgets.
func numberedTroubles() []string {
	all := strings.Fields("P1 P2 P3 P4 P5 P6 P8 P10 P11 P13 " +
		"P34 P35 P36 P37 P38 P39 P40 P42 P43 P45 P46 P47 P48 P61 P63 P64 P66 P67 P68 P70 P71 P74 P75 " +
		"D1 D2 D3 D4 D5 D6 D7 D8 D9 D10 D11 D12 D14 D15 D16 D17 D18 D19 D20")
	for n := 1; n <= 22; n++ {
		all = append(all, fmt.Sprintf("9.%d", n))
	}
	return all
}

// troubleRow is a row of the table: ids, and tests in back quotes in its last cell.
var troubleRow = regexp.MustCompile("(?m)^\\| ((?:(?:P|D|9\\.)[0-9]+(?:, )?)+) \\|.*\\| ((?:`[^`|]+` ?)+) \\|$")

func TestEveryTroubleOfTheProviderHasItsTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/provider.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, row := range troubleRow.FindAllSubmatch(page, -1) {
		told = append(told, strings.Split(string(row[1]), ", ")...)
		for test := range strings.FieldsSeq(strings.ReplaceAll(string(row[2]), "`", "")) {
			folder, function, _ := strings.Cut(test, ".")
			if !hasTest(t, "../../"+folder, function) {
				t.Errorf("%s: there is no %s in %s", row[1], function, folder)
			}
		}
	}
	for _, id := range numberedTroubles() {
		if !slices.Contains(told, id) {
			t.Errorf("docs/provider.md has no row for %s", id)
		}
	}
}
