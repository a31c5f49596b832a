package contract_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/batchbus/batchbus/internal/app"
)

func gatewayPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheGatewayPageExplainsEveryFlagAndMetric(t *testing.T) {
	t.Parallel()
	page := rowsOf(gatewayPage(t))
	upper := regexp.MustCompile(`([a-z])([A-Z])`)
	for field := range reflect.TypeFor[app.GatewayFlags]().Fields() {
		name := upper.ReplaceAllString(field.Name, "$1-$2")
		row := page["--"+strings.ToLower(name)]
		variable := "`BATCHBUS_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "`"
		if !strings.Contains(row, variable) || !strings.Contains(row, field.Tag.Get("default")) {
			t.Errorf("docs/gateway.md has no row for %s with its variable and default: %q", name, row)
		}
	}
	for _, c := range constants(t, "../../internal/gateway") {
		if strings.HasPrefix(c.name, "Metric") && page[c.value] == "" {
			t.Errorf("docs/gateway.md has no row for the metric %s", c.value)
		}
	}
}

func TestTheGatewayPageShowsExactlyTheRightsOfTheGateway(t *testing.T) {
	t.Parallel()
	example := regexp.MustCompile("(?ms)^```conf\n(.*?)^```").FindStringSubmatch(gatewayPage(t))
	if example == nil {
		t.Fatal("docs/gateway.md shows no user")
	}
	path := filepath.Join(t.TempDir(), "nats.conf")
	config := "authorization { users: [\n" + strings.ReplaceAll(example[1], "$GATEWAY_PASSWORD", "secret") + "\n] }"
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rightsOf(options.Users[0]), sorted(app.Rights(app.Gateway, false)); !slices.Equal(got, want) {
		t.Errorf("the gateway may\n%s\nand needs\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
