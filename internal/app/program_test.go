package app_test

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/batchbus/batchbus/internal/app"
)

// program runs a service's program and returns its exit code and what it printed.
func program(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = app.Main(t.Context(), app.Env{Args: args, Lookup: lookup(env), Stdout: &out, Stderr: &errs}, app.Poller)
	return code, out.String(), errs.String()
}

func TestAProgramSaysEveryFaultOfItsConfigurationAtOnce(t *testing.T) {
	t.Parallel()
	key := "sk-secret with spaces"
	for _, c := range []struct {
		name  string
		env   map[string]string
		args  []string
		parts []string
	}{
		{
			"no key, a bad level and a bad url", nil,
			[]string{"--log-level=loud", "--provider-url=http://example.com/v1"},
			[]string{"loud", app.EnvKey, "base url"},
		},
		{
			"a bad key, a bad level and a bad url",
			map[string]string{app.EnvKey: key},
			[]string{"--log-level=loud", "--provider-url=nowhere"},
			[]string{"loud", `key "default"`, "base url"},
		},
		{
			"a bad key and a bad url alone",
			map[string]string{app.EnvKey: key, "BATCHBUS_PROVIDER_URL": "nowhere"},
			nil,
			[]string{`key "default"`, "base url"},
		},
		{
			"two keys and a bad level",
			map[string]string{app.EnvKey: key, app.EnvKeyFile: "file"},
			[]string{"--log-level=loud"},
			[]string{"set one", "loud"},
		},
		{
			"values that are none beside values that are wrong, by flag and by variable",
			map[string]string{"BATCHBUS_PATIENCE": "soon", "BATCHBUS_NKEY": "/no/such/seed"},
			[]string{"--replicas", "2", "--quiet-period=x", "--max-store=1000", "--admin=x", "--linger=-1s", "--poll-floor=2m", "--poll-ceiling=1m"},
			[]string{"--patience: ", "--replicas ", "--quiet-period: ", "--max-store: ", "--nkey: ", "--admin: ", "--linger: ", "--poll-floor: ", app.EnvKey},
		},
		{
			"a budget that is too small, a rate and a webhook without its secret", nil,
			[]string{"--max-provider-calls=3", "--max-provider-rate=-1", "--webhook=:8090", "--stuck-timeout=-1s"},
			[]string{"--max-provider-calls: ", "--max-provider-rate: ", "DOUBLEWORD_WEBHOOK_SECRET", "--stuck-timeout: ", app.EnvKey},
		},
		{"an unknown flag", nil, []string{"--colour"}, []string{"--colour", "poller --help"}},
		{"an impossible number of replicas", nil, []string{"--replicas=2"}, []string{"--replicas"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program(t, c.env, c.args...)
			if code != app.ExitFault || stdout != "" || !strings.HasPrefix(stderr, "poller: ") || strings.Contains(stderr, "sk-secret") {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			for _, part := range c.parts {
				if strings.Count(stderr, part) == 0 {
					t.Errorf("%q is not in %q", part, stderr)
				}
			}
			for line := range strings.Lines(stderr) {
				if !strings.HasPrefix(line, "poller: ") || strings.Count(stderr, line) > 1 {
					t.Errorf("the line %q is without the program's name, or there twice", line)
				}
			}
		})
	}
}

func TestHelpIsOnStdoutAndNoFault(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := program(t, nil, "--help")
	if code != app.ExitOK || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	for _, flag := range []string{"--nats", "--provider-url", "--setup", "--poll-floor", "$BATCHBUS_DRAIN_TIMEOUT"} {
		if !strings.Contains(stdout, flag) {
			t.Errorf("%s is not in\n%s", flag, stdout)
		}
	}
}

func TestASignalDuringTheStartIsTheExitCode(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&app.SignalError{Signal: syscall.SIGTERM})
	var errs strings.Builder
	code := app.Main(ctx, app.Env{Lookup: lookup(nil), Stdout: &errs, Stderr: &errs}, app.Poller)
	if code != app.ExitTerminated {
		t.Errorf("exit code %d", code)
	}
}
