package contract_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheGuardsOfTheFailureModelHaveTheirTests ties the table of what fails without a guard to the tests that it names.
func TestTheGuardsOfTheFailureModelHaveTheirTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/failure-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## What fails when a guard is taken away\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| [^|]+ \\| `([a-z/]+)`: (.*) \\|$").FindAllStringSubmatch(section, -1)
	if !found || len(rows) != 7 {
		t.Fatalf("docs/failure-model.md names the tests of %d guards", len(rows))
	}
	for _, row := range rows {
		code := testsOf(t, row[1])
		for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(row[2], -1) {
			if !strings.Contains(code, "func "+name[1]+"(t *testing.T)") {
				t.Errorf("%s has no test %s", row[1], name[1])
			}
		}
	}
}

// testsOf is the text of all tests of a package.
func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
