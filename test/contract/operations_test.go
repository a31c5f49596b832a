package contract_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/batchbus/batchbus/internal/app"
)

func operations(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rowsOf are the rows of the page's tables by their first cell.
func rowsOf(page string) map[string]string {
	rows := make(map[string]string)
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.*$").FindAllStringSubmatch(page, -1) {
		rows[row[1]] = row[0]
	}
	return rows
}

// help is what a service's program says of its flags, each on one line.
func help(t *testing.T, service string) []string {
	t.Helper()
	var out strings.Builder
	nothing := func(string) (string, bool) { return "", false }
	if code := app.Main(t.Context(), app.Env{Args: []string{"--help"}, Lookup: nothing, Stdout: &out, Stderr: &out}, service); code != app.ExitOK {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	_, flags, _ := strings.Cut(out.String(), "Flags:\n")
	text := regexp.MustCompile(`\n {20,}`).ReplaceAllString(flags, " ")
	return strings.Split(strings.TrimSpace(text), "\n")
}

func TestTheOperationsPageExplainsEverySetting(t *testing.T) {
	t.Parallel()
	rows := rowsOf(operations(t))
	named := regexp.MustCompile(`--([a-z-]+)(?:="?([^" ]*)"?)?\s.*\(\$([A-Z_]+)\)`)
	for _, service := range app.Names() {
		found := 0
		for _, line := range help(t, service) {
			flag := named.FindStringSubmatch(line)
			if flag == nil {
				if !strings.Contains(line, "--help") {
					t.Errorf("%s: a flag without help or variable: %s", service, line)
				}
				continue
			}
			found++
			row := rows["--"+flag[1]]
			if !strings.Contains(row, "`"+flag[3]+"`") {
				t.Errorf("%s: docs/operations.md has no row for --%s with its variable %s", service, flag[1], flag[3])
			}
			if value := flag[2]; value != "" && value != strings.ToUpper(value) && !strings.Contains(row, value) {
				t.Errorf("%s: the row of --%s does not say its default, %s", service, flag[1], value)
			}
			if said := regexp.MustCompile(`Default:? (:?[a-z0-9]+)`).FindStringSubmatch(line); said != nil && said[1] != "the" && !strings.Contains(row, said[1]) {
				t.Errorf("%s: the row of --%s does not say its default, %s", service, flag[1], said[1])
			}
		}
		if found < 20 {
			t.Errorf("%s: only %d flags were found: the test looks in the wrong place", service, found)
		}
	}
}

func TestTheOperationsPageExplainsEveryMetricAndHold(t *testing.T) {
	t.Parallel()
	rows := rowsOf(operations(t))
	metrics := constants(t, "../../internal/obs")
	known := make([]string, 0, len(metrics))
	for _, c := range metrics {
		if strings.HasPrefix(c.name, "Metric") {
			known = append(known, c.value)
			if rows[c.value] == "" {
				t.Errorf("docs/operations.md has no row for the metric %s", c.value)
			}
		}
	}
	if len(known) < 15 {
		t.Errorf("only %d metrics were found: the test looks in the wrong place", len(known))
	}
	metric := regexp.MustCompile(`^batchbus_[a-z_]+$`)
	for name := range rows {
		if metric.MatchString(name) && !slices.Contains(known, name) {
			t.Errorf("docs/operations.md explains %s, which is no metric", name)
		}
	}
	for _, c := range constants(t, "../../pkg/events") {
		if strings.HasPrefix(c.name, "Hold") && rows[c.value] == "" {
			t.Errorf("docs/operations.md does not say what to do about the hold %s", c.value)
		}
	}
}

func TestTheExampleUsersHaveExactlyTheRightsOfTheServices(t *testing.T) {
	t.Parallel()
	example := regexp.MustCompile("(?ms)^```conf\n(.*?)^```").FindStringSubmatch(operations(t))
	if example == nil {
		t.Fatal("docs/operations.md shows no users")
	}
	want := map[string][]app.Right{"setup": app.SetupRights()}
	for _, name := range app.Names() {
		want[name] = app.Rights(name, false)
	}
	config := regexp.MustCompile(`\$[A-Z]+_PASSWORD`).ReplaceAllString(example[1], "secret")
	path := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range options.Users {
		if got := rightsOf(user); !slices.Equal(got, sorted(want[user.Username])) {
			t.Errorf("%s may\n%s\nand needs\n%s", user.Username, strings.Join(got, "\n"), strings.Join(sorted(want[user.Username]), "\n"))
		}
		delete(want, user.Username)
	}
	if len(want) > 0 {
		t.Errorf("no user for %v", want)
	}
}

func rightsOf(user *server.User) []string {
	var rights []app.Right
	for _, subject := range user.Permissions.Publish.Allow {
		rights = append(rights, app.Right{Verb: app.Publish, Subject: subject})
	}
	for _, subject := range user.Permissions.Subscribe.Allow {
		rights = append(rights, app.Right{Verb: app.Subscribe, Subject: subject})
	}
	return sorted(rights)
}

func sorted(rights []app.Right) []string {
	lines := make([]string, len(rights))
	for i, r := range rights {
		lines[i] = fmt.Sprint(r)
	}
	slices.Sort(lines)
	return lines
}
