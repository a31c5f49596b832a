package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

// serviceFlags are the flags of the four service programs. Each has an environment variable: BATCHBUS_ and the flag in capitals.
type serviceFlags struct {
	ConnectionFlags

	ProviderURL string `default:"https://api.doubleword.ai/v1" help:"Base URL of the provider: https, or http on loopback."`

	Setup    bool  `help:"Create the streams, buckets and consumers that are missing; without it they are only checked."`
	Replicas int   `default:"1" enum:"1,3" help:"Replicas of each stream: 1 or 3."`
	MaxStore int64 `placeholder:"BYTES" help:"Most bytes that all streams together may hold. Default: the server's own limit."`

	AckWait time.Duration `placeholder:"DURATION" help:"After how long what a replica died over is given to another one, the same for all services. Default 30s."`

	TimeFlags

	Admin  string `default:"${admin}" placeholder:"ADDRESS" help:"Address of /livez, /readyz and /metrics. Empty: none. Default ${admin}."`
	Health bool   `help:"Ask the process that runs with the same --admin whether it is ready, print a line, and exit with 0 or 1."`

	LogLevel string `default:"info" help:"Least level of log lines: debug, info, warn, error."`
}

// Main is the whole of a service's program: it parses flags and environment, runs the named services until ctx ends, and returns the
// exit code. Log lines, JSON, go to stderr.
func Main(ctx context.Context, env Env, services ...string) (code int) {
	name := services[0]
	var flags serviceFlags
	_, err := ParseFlags(env, name, describe(name), &flags, kong.Vars{"admin": adminAddress(name)})
	if err == nil && flags.Health {
		return probe(ctx, env, flags.Admin)
	}
	if err == nil {
		err = flags.run(ctx, env, services)
	}
	if errors.Is(err, ErrHelp) {
		return ExitOK
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "%s: %v\n", name, err)
	}
	return ExitCode(ctx, err)
}

func (f *serviceFlags) run(ctx context.Context, env Env, services []string) error {
	keys, keyErr := LoadKeys(env.Lookup)
	level, levelErr := zerolog.ParseLevel(f.LogLevel)
	o := Options{
		Services: services, Admin: f.Admin, Dial: f.Dial, BaseURL: f.ProviderURL, Keys: keys,
		Topology: jetstore.Settings{Replicas: f.Replicas, MaxStore: f.MaxStore, KeepSizes: f.MaxStore == 0, AckWait: f.AckWait},
		Setup:    f.Setup,
		Log:      zerolog.New(env.Stderr).Level(level).With().Timestamp().Logger(),
		Settings: f.Settings(DefaultSettings()),
	}
	f.OnError = func(err error) { o.Log.Error().Err(err).Msg("bus") }
	if err := errors.Join(keyErr, levelErr, f.Check()); err != nil {
		return errors.Join(err, o.validate())
	}
	return Run(ctx, o)
}

// adminAddress is where a service's program serves its health by default.
func adminAddress(service string) string {
	return fmt.Sprintf(":%d", firstAdminPort+slices.Index(Names(), service))
}

// firstAdminPort is that of ingest; the others follow in the order of [Names].
const firstAdminPort = 8081

func describe(service string) string {
	return "The batchbus service " + service + `: see docs/operations.md.

Every flag can be set by an environment variable too: BATCHBUS_ and its name in capitals. The API key comes from DOUBLEWORD_API_KEY, or ` +
		`from the file that DOUBLEWORD_API_KEY_FILE names; never from a flag.`
}
