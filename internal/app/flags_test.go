package app_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/app"
)

// flagsOfTest are flags of every kind that the programs have.
type flagsOfTest struct {
	Name     string        `default:"none" help:"A name."`
	MaxStore int64         `help:"A number"`
	Setup    bool          `help:"A switch."`
	Level    string        `default:"info" enum:"info,warn" help:"A choice."`
	Wait     time.Duration `help:"A time."`
}

func parse(env map[string]string, args ...string) (flags flagsOfTest, printed string, err error) {
	var out, errs strings.Builder
	_, err = app.ParseFlags(app.Env{Args: args, Lookup: lookup(env), Stdout: &out, Stderr: &errs}, "tool", "A tool.", &flags)
	return flags, out.String() + errs.String(), err
}

func TestFlagsAndTheirVariables(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"BATCHBUS_NAME": "from-env", "BATCHBUS_MAX_STORE": "7", "BATCHBUS_SETUP": "true", "BATCHBUS_LEVEL": "warn", "BATCHBUS_WAIT": "90s",
	}
	for _, c := range []struct {
		name string
		env  map[string]string
		args []string
		want flagsOfTest
	}{
		{"defaults", nil, nil, flagsOfTest{Name: "none", Level: "info"}},
		{
			"flags", nil,
			[]string{"--name", "a", "--max-store=5", "--setup", "--level=warn", "--wait", "1m"},
			flagsOfTest{Name: "a", MaxStore: 5, Setup: true, Level: "warn", Wait: time.Minute},
		},
		{"variables", env, nil, flagsOfTest{Name: "from-env", MaxStore: 7, Setup: true, Level: "warn", Wait: 90 * time.Second}},
		{
			"a flag before its variable", env,
			[]string{"--name=a", "--max-store=5"},
			flagsOfTest{Name: "a", MaxStore: 5, Setup: true, Level: "warn", Wait: 90 * time.Second},
		},
	} {
		if got, printed, err := parse(c.env, c.args...); err != nil || got != c.want || printed != "" {
			t.Errorf("%s: %+v, %v, printed %q", c.name, got, err, printed)
		}
	}
}

func TestHelpIsPrintedAndNoFault(t *testing.T) {
	t.Parallel()
	_, printed, err := parse(nil, "--help")
	if !errors.Is(err, app.ErrHelp) {
		t.Fatal(err)
	}
	for _, part := range []string{"A tool.", "--max-store", "$BATCHBUS_MAX_STORE", "A number"} {
		if !strings.Contains(printed, part) {
			t.Errorf("%q is not in\n%s", part, printed)
		}
	}
}

func TestWhatIsWrongWithFlagsIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  map[string]string
		args []string
		part string
	}{
		{nil, []string{"--nam=x"}, "--nam"},
		{nil, []string{"extra"}, "extra"},
		{nil, []string{"--max-store=many"}, "--max-store"},
		{nil, []string{"--level=loud"}, "--level"},
		{nil, []string{"--wait=soon"}, "--wait"},
		{map[string]string{"BATCHBUS_WAIT": "soon"}, nil, "soon"},
		{map[string]string{"BATCHBUS_LEVEL": "loud"}, nil, "--level"},
	} {
		_, _, err := parse(c.env, c.args...)
		if err == nil || errors.Is(err, app.ErrHelp) || !strings.Contains(err.Error(), c.part) || !strings.Contains(err.Error(), "tool --help") {
			t.Errorf("%v %v: %v", c.env, c.args, err)
		}
	}
}

func TestFlagsThatCannotBeDefinedAreAFault(t *testing.T) {
	t.Parallel()
	var notAStruct int
	if _, err := app.ParseFlags(app.Env{Lookup: lookup(nil)}, "tool", "A tool.", &notAStruct); err == nil {
		t.Error("an int is no set of flags")
	}
}
