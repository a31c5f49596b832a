package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

type runCommand struct {
	Files []string `arg:"" name:"file" help:"JSONL files of rows, one request a line."`

	Job         string         `help:"Name of the job. Default: a digest of the files and settings, so that the same command resumes."`
	Queue       string         `default:"default" help:"Queue that the job belongs to."`
	Window      string         `default:"24h" help:"Completion window: 24h or 1h."`
	Model       string         `help:"Model for rows that name none."`
	Description string         `help:"Free text kept with the job."`
	Timeout     *time.Duration `help:"Stop waiting after this long; the job itself goes on. Default: wait for ever."`
	Out         string         `help:"Folder for output.jsonl and errors.jsonl. Default: ./batchbus-out/JOB."`
	Format      string         `default:"event" help:"Shape of the result lines: event, openai or flat."`
	JSON        bool           `name:"json" help:"Print the summary as JSON on stdout."`

	Data         string `default:".batchbus" help:"Folder of the embedded bus. It serves one provider and one process at a time."`
	MaxStore     int64  `placeholder:"BYTES" help:"Most bytes that the bus may keep. Default: four fifths of the free disk."`
	StoreKeyFile string `placeholder:"FILE" help:"File whose content encrypts the bus's store (AES)."`
	LogLevel     string `default:"warn" help:"Least level of log lines on stderr: debug, info, warn, error."`

	ProviderURL        string `default:"https://api.doubleword.ai/v1" help:"Base URL of the provider."`
	Simulate           bool   `help:"Use the built-in simulator even though an API key is set."`
	app.SimulatorFlags `embed:"" group:"Simulator"`
	app.TimeFlags      `embed:"" group:"Times"`
}

// plan is a run whose settings and inputs have been checked.
type plan struct {
	cmd       *runCommand
	env       app.Env
	inputs    []input
	rows      int
	queue     string
	job       string
	policy    events.Policy
	simulated bool
	out       string
	format    format
	local     app.LocalOptions
	startedAt time.Time
	begun     bool // the job is open: from here on something may be published
}

// plan checks everything that can be checked before anything is published, and reports every fault at once.
func (r *runCommand) plan(env app.Env) (*plan, error) {
	p := &plan{cmd: r, env: env, queue: r.Queue, policy: events.DefaultPolicy(), startedAt: time.Now()}
	p.local.BaseURL = cmp.Or(strings.TrimRight(r.ProviderURL, "/"), doubleword.DefaultBaseURL)
	p.policy.Window, p.policy.DefaultModel = r.Window, r.Model
	keys, err := app.LoadKeys(env.Lookup)
	faults := []error{err}
	p.simulated = r.Simulate || len(keys) == 0
	faults = append(faults, r.check(p)...)
	log, err := newLog(env.Stderr, r.LogLevel)
	faults = append(faults, err)
	inputs, err := inspectAll(r.Files, rulesOf(&p.policy))
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, err
	}
	p.inputs = inputs
	for _, in := range inputs {
		p.rows += in.rows
	}
	provider := p.local.BaseURL
	if p.simulated {
		provider = app.SimulatorName
	}
	if p.job = r.Job; p.job == "" {
		p.job = jobName(inputs, r.Queue, &p.policy, provider)
	}
	if p.out = r.Out; p.out == "" {
		p.out = filepath.Join("batchbus-out", p.job)
	}
	p.local = app.LocalOptions{
		Dir: r.Data, MaxStore: r.MaxStore, KeyFile: r.StoreKeyFile, Log: log,
		Simulate: p.simulated, Simulator: r.SimulatorFlags, BaseURL: p.local.BaseURL, Keys: keys,
	}
	if err := checkOut(p.out, p.job, p.simulated); err != nil {
		return nil, err
	}
	p.local.Settings = r.Settings(app.DefaultSettings())
	if p.simulated {
		p.local.Settings = r.Settings(app.SimulatedSettings())
	}
	return p, nil
}

// check looks at the settings one by one.
func (r *runCommand) check(p *plan) (faults []error) {
	faults = append(faults, flagError("--queue", events.CheckName(r.Queue)))
	if r.Job != "" {
		faults = append(faults, flagError("--job", events.CheckName(r.Job)))
		if events.IsRolling(r.Job) {
			faults = append(faults, fmt.Errorf("--job: names that begin with %q are batchbus's own", events.RollingPrefix))
		}
	}
	if !slices.Contains(p.policy.Windows, r.Window) {
		faults = append(faults, fmt.Errorf("--window: %q is not one of %v", r.Window, p.policy.Windows))
	}
	if r.Timeout != nil && *r.Timeout <= 0 {
		faults = append(faults, fmt.Errorf("--timeout: %s is not positive", *r.Timeout))
	}
	if r.MaxStore != 0 && r.MaxStore < app.MinStore {
		faults = append(faults, fmt.Errorf("--max-store: %d bytes is too little: at least %d", r.MaxStore, app.MinStore))
	}
	faults = append(faults, r.CheckSimulator(), r.CheckTimes())
	if !p.simulated {
		_, err := doubleword.New(doubleword.Config{BaseURL: p.local.BaseURL, Key: doubleword.NewSecret("checked")})
		faults = append(faults, flagError("--provider-url", err))
	}
	var err error
	p.format, err = formatOf(r.Format)
	return append(faults, flagError("--format", err))
}

func flagError(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// inspectAll looks at every file, and refuses a set without a single valid row.
func inspectAll(paths []string, rules *rowRules) ([]input, error) {
	var inputs []input
	var faults []error
	total, valid := 0, 0
	for _, path := range paths {
		in, err := inspect(path, rules)
		inputs, faults = append(inputs, in), append(faults, err)
		total, valid = total+in.rows, valid+in.valid
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if total == 0 {
		return nil, fmt.Errorf("%s: no rows: the input is empty", paths[0])
	}
	if valid == 0 {
		first := inputs[0]
		for _, in := range inputs {
			if len(in.faults) > 0 {
				first = in
				break
			}
		}
		return nil, fmt.Errorf("no valid row among %d; nothing was published. The first: %s", total, describe(first.path, first.faults[0]))
	}
	return inputs, nil
}

// preflight asks a real provider whether it is there and takes the key, before anything is published.
func (p *plan) preflight(ctx context.Context) error {
	if p.simulated {
		return nil
	}
	provider, err := doubleword.New(doubleword.Config{BaseURL: p.local.BaseURL, Key: p.local.Keys[app.DefaultKey]})
	if err != nil {
		return err
	}
	_, err = provider.Models(ctx)
	switch {
	case err == nil:
		return nil
	case doubleword.RefusalOf(err) == doubleword.RefusedKey:
		return fmt.Errorf("the provider refuses the API key; nothing was published: check %s: %w", app.EnvKey, err)
	case doubleword.ClassOf(err) == doubleword.Permanent:
		return fmt.Errorf("%s does not answer as a batch provider; nothing was published: does --provider-url end in /v1? %w", p.local.BaseURL, err)
	default:
		return fmt.Errorf("the provider at %s cannot be reached; nothing was published: %w", p.local.BaseURL, err)
	}
}

// newLog is a logger to w at the named level or above.
func newLog(w io.Writer, level string) (zerolog.Logger, error) {
	parsed, err := zerolog.ParseLevel(level)
	if err != nil || !slices.Contains([]string{"debug", "info", "warn", "error"}, level) {
		return zerolog.Logger{}, fmt.Errorf("--log-level: %q is not debug, info, warn or error", level)
	}
	return zerolog.New(zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: !isTerminal(w) || os.Getenv("NO_COLOR") != ""}).
		Level(parsed).With().Timestamp().Logger(), nil
}
