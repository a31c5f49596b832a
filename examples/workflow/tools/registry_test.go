package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/batchbus/batchbus/examples/workflow/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var limits = tools.Limits{Timeout: time.Second, ResultBytes: 200}

func registry(t *testing.T, functions ...tools.Function) *tools.Registry {
	t.Helper()
	r, err := tools.New(limits, append(tools.Local(time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)), functions...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// does is a function of the name f.
func does(call func(context.Context) (string, error)) tools.Function {
	return tools.Function{Name: "f", Parameters: "{}", Call: func(ctx context.Context, _ []byte) (string, error) { return call(ctx) }}
}

func TestCallsOfTheLocalFunctions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, arguments, want string
		outcome               tools.Outcome
	}{
		"a value is looked up":              {"part_price", `{"part":"B-200"}`, `"3.20"`, tools.OK},
		"rows are counted":                  {"count_orders", `{"status":"shipped"}`, "3", tools.OK},
		"the time is the given one":         {"current_time", `{}`, "2026-11-30T02:00:00Z", tools.OK},
		"a name that nobody has":            {"delete_all", `{}`, "no tool", tools.Unknown},
		"an empty name":                     {"", `{}`, "no tool", tools.Unknown},
		"a part that is not there":          {"part_price", `{"part":"Z"}`, `no part "Z"`, tools.BadArguments},
		"a value of another type":           {"part_price", `{"part":7}`, "bad arguments", tools.BadArguments},
		"a member that is not a parameter":  {"current_time", `{"zone":"CET"}`, "zone", tools.BadArguments},
		"arguments that are no JSON":        {"count_orders", `{"status":`, "bad arguments", tools.BadArguments},
		"no arguments at all":               {"count_orders", ``, "bad arguments", tools.BadArguments},
		"more than one value":               {"current_time", `{} {}`, "more than one", tools.BadArguments},
		"an argument that is left out":      {"count_orders", `{}`, "status is", tools.BadArguments},
		"long foreign text in an error":     {"part_price", `{"part":"` + strings.Repeat("ä", 300) + `"}`, "no part", tools.BadArguments},
		"a path where a part is asked for":  {"part_price", `{"part":"../../etc/passwd"}`, "no part", tools.BadArguments},
		"arguments that are another's JSON": {"count_orders", `"shipped"`, "bad arguments", tools.BadArguments},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, outcome, err := registry(t).Call(t.Context(), c.tool, c.arguments)
			if err != nil || outcome != c.outcome || !strings.Contains(text, c.want) || len(text) > limits.ResultBytes {
				t.Errorf("got %q, %s, %v", text, outcome, err)
			}
		})
	}
}

func TestAFunctionThatMisbehavesBecomesAText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call    func(context.Context) (string, error)
		want    string
		outcome tools.Outcome
	}{
		"it fails":           {func(context.Context) (string, error) { return "", errors.New("disk gone") }, "failed: disk gone", tools.Failed},
		"it panics":          {func(context.Context) (string, error) { panic("boom") }, `panicked: "boom"`, tools.Failed},
		"it says too much":   {func(context.Context) (string, error) { return strings.Repeat("x", 201), nil }, "201 bytes", tools.TooLarge},
		"it says it in junk": {func(context.Context) (string, error) { return "a\xffb", nil }, "a?b", tools.OK},
		"it ends with ctx":   {func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }, "longer than 1s", tools.TimedOut},
		"it is slow":         {func(context.Context) (string, error) { <-time.NewTimer(time.Hour).C; return "late", nil }, "longer than 1s", tools.TimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				t.Helper()
				began := time.Now()
				text, outcome, err := registry(t, does(c.call)).Call(t.Context(), "f", "{}")
				if err != nil || outcome != c.outcome || !strings.Contains(text, c.want) || time.Since(began) > limits.Timeout {
					t.Errorf("got %q, %s, %v after %s", text, outcome, err, time.Since(began))
				}
				<-time.NewTimer(2 * time.Hour).C // the slow one ends too
			})
		})
	}
}

func TestACallEndsWithItsContextAndHasNoOutcomeThen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := registry(t, does(func(ctx context.Context) (string, error) {
		cancel()
		<-ctx.Done()
		return "done", nil
	}))
	if text, outcome, err := r.Call(ctx, "f", "{}"); !errors.Is(err, context.Canceled) || outcome != "" || text != "" {
		t.Errorf("got %q, %s, %v", text, outcome, err)
	}
}

func TestDefinitionsAreWhatARequestCarries(t *testing.T) {
	t.Parallel()
	var definitions []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string         `json:"name"`
			Description string         `json:"description"`
			Parameters  map[string]any `json:"parameters"`
		} `json:"function"`
	}
	if err := json.Unmarshal(registry(t).Definitions(), &definitions); err != nil || len(definitions) != 3 {
		t.Fatalf("%d definitions, %v", len(definitions), err)
	}
	for _, d := range definitions {
		if d.Type != "function" || d.Function.Name == "" || d.Function.Description == "" || d.Function.Parameters["type"] != "object" {
			t.Errorf("%+v", d)
		}
	}
}

func TestARegistryRefusesWhatNoModelCouldCall(t *testing.T) {
	t.Parallel()
	for name, functions := range map[string][]tools.Function{
		"a name twice":            {{Name: "a", Parameters: "{}"}, {Name: "a", Parameters: "{}"}},
		"a name that is none":     {{Name: "a b", Parameters: "{}"}},
		"parameters that are not": {{Name: "a", Parameters: "{"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := tools.New(limits, functions...); err == nil {
				t.Error("it was taken")
			}
		})
	}
}
