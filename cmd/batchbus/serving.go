package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/prices"
	"github.com/batchbus/batchbus/pkg/doubleword"
)

// storeFlags say how the embedded bus keeps its data.
type storeFlags struct {
	MaxStore     int64  `placeholder:"BYTES" help:"Most bytes that the embedded bus may keep. Default: four fifths of the free disk."`
	StoreKeyFile string `placeholder:"FILE" help:"File whose content encrypts the embedded bus's store (AES)."`
}

// servingFlags say how services run in this process, and who their provider is.
type servingFlags struct {
	LogLevel           string `default:"warn" help:"Least level of log lines on stderr: debug, info, warn, error."`
	ProviderURL        string `default:"https://api.doubleword.ai/v1" help:"Base URL of the provider."`
	Simulate           bool   `help:"Use the built-in simulator even though an API key is set."`
	app.SimulatorFlags `embed:"" group:"Simulator"`
	app.TimeFlags      `embed:"" group:"Times"`
	app.PriceFlags
	app.CallFlags
}

// local checks the flags, and returns what they say and every fault.
func (f *servingFlags) local(env app.Env, dir string, store storeFlags) (o app.LocalOptions, faults []error) {
	keys, err := app.LoadKeys(env)
	log, logErr := newLog(env.Stderr, f.LogLevel)
	table, priceErr := f.Table()
	calls, callErr := f.Calls()
	faults = append(faults, err, logErr, priceErr, callErr, f.CheckSimulator(), f.CheckTimes())
	if dir != "" && store.MaxStore != 0 && store.MaxStore < app.MinStore {
		faults = append(faults, fmt.Errorf("--max-store: %d bytes is too little: at least %d", store.MaxStore, app.MinStore))
	}
	o = app.LocalOptions{
		Dir: dir, MaxStore: store.MaxStore, KeyFile: store.StoreKeyFile, Log: log,
		Simulate: f.Simulate || len(keys) == 0, Simulator: f.SimulatorFlags,
		BaseURL: cmp.Or(strings.TrimRight(f.ProviderURL, "/"), doubleword.DefaultBaseURL), Keys: keys, Prices: table, Calls: calls,
	}
	if o.Simulate {
		o.Prices = cmp.Or(o.Prices, prices.Simulated())
		o.Settings = f.Settings(app.SimulatedSettings())
		return o, faults
	}
	o.Settings = f.Settings(app.DefaultSettings())
	_, err = doubleword.New(doubleword.Config{BaseURL: o.BaseURL, Key: doubleword.NewSecret("checked")})
	return o, append(faults, flagError("--provider-url", err))
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

// memoryLimit is where the garbage collector of a process that serves begins to work harder: what a job of any size needs, bus and simulator
// included, and well below the 500 MiB that one may take. GOMEMLIMIT overrides it.
const memoryLimit = 360 << 20

// serving looks whether the provider is there, opens a data directory, runs all services on it, and work beside them. When a service stops by
// itself, work's ctx ends with the fault as its cause. Errors are returned as they are, for [ended].
func serving(ctx context.Context, env app.Env, o app.LocalOptions, work func(context.Context, *app.Local) (int, error)) (int, error) {
	return onDirectory(ctx, env, o, func(local *app.Local) (int, error) { return serveOn(ctx, local, work) })
}

// onDirectory looks whether the provider is there, and does work on a data directory.
func onDirectory(ctx context.Context, env app.Env, o app.LocalOptions, work func(*app.Local) (int, error)) (int, error) {
	if _, set := env.Lookup("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryLimit)
	}
	if err := app.CheckDir(o.Dir, o.ProviderName()); err != nil {
		return app.ExitFault, err
	}
	if err := preflight(ctx, &o); err != nil {
		return app.ExitFault, err
	}
	local, err := app.OpenLocal(ctx, o)
	if err != nil {
		return app.ExitFault, err
	}
	code, err := work(local)
	return code, errors.Join(err, local.Close())
}

func serveOn(ctx context.Context, local *app.Local, work func(context.Context, *app.Local) (int, error)) (int, error) {
	services, stop := context.WithCancel(ctx)
	defer stop()
	ready, served := make(chan struct{}), make(chan error, 1)
	options := local.Options()
	options.Ready = func() { close(ready) }
	go func() { served <- app.Run(services, options) }()
	select {
	case err := <-served:
		return app.ExitFault, err
	case <-ready:
	}
	working, fault := context.WithCancelCause(ctx)
	defer fault(nil)
	done := make(chan error, 1)
	go func() {
		err := <-served
		fault(err)
		done <- err
	}()
	code, err := work(working, local)
	stop()
	return code, errors.Join(err, <-done)
}

// preflight asks a real provider whether it is there and takes the keys, before anything is published.
func preflight(ctx context.Context, o *app.LocalOptions) error {
	if o.Simulate {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(o.Keys)) {
		if err := checkKey(ctx, o, name); err != nil {
			return err
		}
	}
	return nil
}

func checkKey(ctx context.Context, o *app.LocalOptions, name string) error {
	provider, err := doubleword.New(doubleword.Config{BaseURL: o.BaseURL, Key: o.Keys[name]})
	if err != nil {
		return fmt.Errorf("check key %q: %w", name, err)
	}
	_, err = provider.Models(ctx)
	switch {
	case err == nil:
		return nil
	case doubleword.RefusalOf(err) == doubleword.RefusedKey:
		return fmt.Errorf("the provider refuses the API key; nothing was published: check %s: %w", app.KeyVariable(name), err)
	case doubleword.ClassOf(err) == doubleword.Permanent, errors.Is(err, doubleword.ErrBadAnswer), errors.Is(err, doubleword.ErrEncoded):
		return fmt.Errorf("%s does not answer as a batch provider; nothing was published: does --provider-url end in /v1? %w", o.BaseURL, err)
	case answered(err):
		return fmt.Errorf("the provider at %s answers with an error; nothing was published: %w", o.BaseURL, err)
	default:
		return fmt.Errorf("the provider at %s cannot be reached; nothing was published: %w", o.BaseURL, err)
	}
}

// answered reports whether a failed call had an answer.
func answered(err error) bool {
	e, ok := errors.AsType[*doubleword.Error](err)
	return ok && e.Status != 0
}

// tellProvider says plainly whether anything is real.
func tellProvider(env app.Env, o *app.LocalOptions) {
	if o.Simulate {
		say(env, "SIMULATED: the answers are made up by the built-in simulator, no model runs and nothing is paid")
	} else {
		say(env, "every body is sent to the provider at %s as it is, not de-identified", o.BaseURL)
	}
}
