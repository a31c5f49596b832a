package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
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

	ConnectTimeout time.Duration `placeholder:"DURATION" help:"How long the start waits for a bus that is away, or has no JetStream yet. Default: for ever."`

	AckWait time.Duration `placeholder:"DURATION" help:"After how long what a replica died over is given to another one, the same for all services. Default 30s."`

	TimeFlags

	PriceFlags
	CallFlags
	WebhookFlags

	Admin  string `default:"${admin}" placeholder:"ADDRESS" help:"Address of /livez, /readyz and /metrics. Empty: none. Default ${admin}."`
	Health bool   `help:"Ask the process that runs with the same --admin whether it is ready, print a line, and exit with 0 or 1."`

	LogLevel string `default:"info" help:"Least level of log lines: debug, info, warn, error."`
}

// Main is the whole of a service's program: it parses flags and environment, runs the named services until ctx ends, and returns the
// exit code. Log lines, JSON, go to stderr.
func Main(ctx context.Context, env Env, services ...string) (code int) {
	name := services[0]
	var flags serviceFlags
	parsed, err := ParseFlags(env, name, describe(name), &flags, kong.Vars{"admin": adminAddress(name)})
	if err == nil && flags.Health {
		return probe(ctx, env, flags.Admin)
	}
	switch {
	case errors.Is(err, ErrHelp):
		return ExitOK
	case err == nil:
		err = flags.run(ctx, env, services)
	case parsed != nil: // more may be wrong with the rest
		_, fault := flags.options(env, services)
		err = errors.Join(err, fault)
	}
	if err != nil {
		for line := range strings.Lines(err.Error()) { // joined errors stand one a line
			fmt.Fprintf(env.Stderr, "%s: %s\n", name, strings.TrimSuffix(line, "\n"))
		}
	}
	return ExitCode(ctx, err)
}

func (f *serviceFlags) run(ctx context.Context, env Env, services []string) error {
	o, err := f.options(env, services)
	if err != nil {
		return err
	}
	return Run(ctx, o)
}

// options are what the flags and the environment say, or all that is wrong with them.
func (f *serviceFlags) options(env Env, services []string) (Options, error) {
	keys, keyErr := LoadKeys(env)
	level, levelErr := zerolog.ParseLevel(f.LogLevel)
	if levelErr != nil {
		levelErr = fmt.Errorf("--log-level: %q is not debug, info, warn or error", f.LogLevel)
	}
	o := Options{
		Services: services, Admin: f.Admin, Dial: f.Dial, ConnectTimeout: cmp.Or(f.ConnectTimeout, forever), BaseURL: f.ProviderURL, Keys: keys,
		Topology: jetstore.Settings{Replicas: f.Replicas, MaxStore: f.MaxStore, KeepSizes: f.MaxStore == 0, AckWait: f.AckWait},
		Setup:    f.Setup,
		Log:      zerolog.New(env.Stderr).Level(level).With().Timestamp().Logger(),
		Settings: f.Settings(DefaultSettings()),
	}
	table, priceErr := f.Table()
	calls, callErr := f.Calls()
	hooks, hookErr := f.Hooks(env, services)
	o.Prices, o.Calls, o.Webhook = table, calls, hooks
	armed, armErr := failpoints(env)
	o.Failpoints = armed
	f.OnError = func(err error) { o.Log.Error().Err(err).Msg("bus") }
	return o, errors.Join(keyErr, levelErr, armErr, priceErr, callErr, hookErr, f.Check(), f.CheckTimes(), f.checkRest(), o.validate())
}

// checkRest looks at what has no check of its own.
func (f *serviceFlags) checkRest() error {
	var faults []error
	if f.MaxStore != 0 && f.MaxStore < MinStore {
		faults = append(faults, fmt.Errorf("--max-store: %d bytes is too little: at least %d", f.MaxStore, MinStore))
	}
	if f.ConnectTimeout < 0 {
		faults = append(faults, errors.New("--connect-timeout: it is negative"))
	}
	if f.AckWait < 0 {
		faults = append(faults, errors.New("--ack-wait: it is negative"))
	}
	if f.PollFloor > 0 && f.PollCeiling > 0 && f.PollFloor > f.PollCeiling {
		faults = append(faults, errors.New("--poll-floor: it is above --poll-ceiling"))
	}
	if _, _, err := net.SplitHostPort(f.Admin); f.Admin != "" && err != nil {
		faults = append(faults, fmt.Errorf("--admin: %w", err))
	}
	return errors.Join(faults...)
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
