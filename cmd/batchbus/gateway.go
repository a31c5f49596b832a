package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/batchbus/batchbus/internal/app"
)

// gatewayCommand is the front door for programs that know an OpenAI SDK.
type gatewayCommand struct {
	app.GatewayFlags

	Admin          string        `placeholder:"ADDRESS" help:"Address of /livez, /readyz and /metrics, such as :8085. Default: none."`
	ConnectTimeout time.Duration `placeholder:"DURATION" help:"How long the start waits for a NATS server that is away. Default: for ever."`

	busFlags
	servingFlags
}

// waitForever is how long the start waits for a bus when nothing else is said.
const waitForever = 100 * 365 * 24 * time.Hour

// run takes calls until it is stopped: for the bus of a deployment, or for one of its own with all services beside it. Serving flags count
// for --data only, but for the provider's URL, whose models are listed.
func (g *gatewayCommand) run(ctx context.Context, env app.Env) (int, error) {
	local, faults := g.local(env, g.Data, g.storeFlags)
	gateway, err := g.Gateway()
	faults = append(faults, err, g.check(), flagError("--admin", checkAddress(g.Admin)))
	if g.ConnectTimeout < 0 {
		faults = append(faults, errors.New("--connect-timeout: it is negative"))
	}
	if err := errors.Join(faults...); err != nil {
		return app.ExitFault, err
	}
	gateway.Listening = func(address string) { g.tell(env, address) }
	code, err := g.serve(ctx, env, local, gateway)
	return ended(ctx, env, code, err, "Calls that were open go on without it: whoever sends one again gets the same answer, and pays once.")
}

func (g *gatewayCommand) serve(ctx context.Context, env app.Env, local app.LocalOptions, gateway app.GatewayOptions) (int, error) {
	if g.Data != "" {
		tellProvider(env, &local)
		return alone(ctx, env, local, gateway, g.Admin)
	}
	failpoints, err := app.Failpoints(env)
	if err != nil {
		return app.ExitFault, err
	}
	timeout := g.ConnectTimeout
	if timeout == 0 {
		timeout = waitForever
	}
	g.OnError = func(err error) { local.Log.Error().Err(err).Msg("bus") }
	return stopped(ctx, app.Run(ctx, app.Options{
		Services: []string{app.Gateway}, Gateway: gateway, Dial: g.Dial, ConnectTimeout: timeout, BaseURL: local.BaseURL, Keys: local.Keys,
		StreamsOnly: true, Settings: local.Settings, Log: local.Log, Admin: g.Admin, Failpoints: failpoints,
	}))
}

// alone runs everything in this process.
func alone(ctx context.Context, env app.Env, o app.LocalOptions, gateway app.GatewayOptions, admin string) (int, error) {
	return onDirectory(ctx, env, o, func(local *app.Local) (int, error) {
		options := local.Options()
		options.Services = append(options.Services, app.Gateway)
		options.Gateway, options.Admin = gateway, admin
		return stopped(ctx, app.Run(ctx, options))
	})
}

// stopped is how a service ended that runs until it is stopped.
func stopped(ctx context.Context, err error) (int, error) {
	if err == nil {
		err = context.Cause(ctx)
	}
	return app.ExitFault, err
}

func checkAddress(address string) error {
	if address == "" {
		return nil
	}
	_, _, err := net.SplitHostPort(address)
	return err //nolint:wrapcheck // the caller names the flag
}

// tell says where calls are taken, and what a program has to change.
func (g *gatewayCommand) tell(env app.Env, address string) {
	fmt.Fprintf(env.Stdout, "batchbus gateway takes calls: base_url http://%s/v1\n", address)
	if g.Callers == "" {
		say(env, "note: every caller is served, whatever its API key, by queue %s", g.Queue)
	}
}
