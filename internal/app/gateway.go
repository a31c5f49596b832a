package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/internal/gateway"
	"github.com/batchbus/batchbus/pkg/events"
)

// Gateway is the service that takes HTTP calls. It is none of [Names], since no row needs it.
const Gateway = "gateway"

// GatewayFlags are the flags of the gateway.
type GatewayFlags struct {
	Listen      string        `default:"127.0.0.1:8080" help:"Address where calls are taken."`
	Callers     string        `placeholder:"FILE" help:"JSON file, or the JSON itself, that says which API key may call for which queue: {\"KEY or sha256:HEX\": \"QUEUE\"}. Default: whoever comes, for --queue, on this machine only."`
	AllowAnyone bool          `help:"Take calls from other machines although there are no --callers."`
	Queue       string        `default:"default" help:"Queue of all calls when there are no --callers."`
	Gather      time.Duration `default:"1s" help:"How long calls gather for one job, in whole seconds."`
	MaxWait     time.Duration `placeholder:"DURATION" help:"After how long a call is answered with 202 and a handle in place of its result. Default: never, unless it asks for it."`
	KeepAlive   time.Duration `default:"15s" help:"Time between two signs of life of an answer that is waited for."`
	MaxCalls    int           `default:"10000" help:"Open calls at most; more are refused with 429."`
}

// GatewayOptions are what a gateway is made of. The zero value takes calls on a free port of this machine.
type GatewayOptions struct {
	Listen    string
	Callers   *gateway.Callers // nil: whoever comes, for Queue
	Queue     string
	Gather    time.Duration
	MaxWait   time.Duration
	KeepAlive time.Duration
	MaxCalls  int
	// Listening, when set, is told the address once calls are taken there.
	Listening func(address string)
}

// Gateway is what the flags say, or all that is wrong with them.
func (f GatewayFlags) Gateway() (GatewayOptions, error) {
	callers, callersErr := f.callers()
	faults := []error{callersErr, f.checkListen(), f.checkTimes()}
	if err := events.CheckName(f.Queue); err != nil {
		faults = append(faults, fmt.Errorf("--queue: %w", err))
	}
	if f.MaxCalls < 1 {
		faults = append(faults, fmt.Errorf("--max-calls: %d is not positive", f.MaxCalls))
	}
	return GatewayOptions{
		Listen: f.Listen, Callers: callers, Queue: f.Queue, Gather: f.Gather, MaxWait: f.MaxWait, KeepAlive: f.KeepAlive, MaxCalls: f.MaxCalls,
	}, errors.Join(faults...)
}

func (f GatewayFlags) checkTimes() error {
	var faults []error
	if f.Gather < time.Second || f.Gather%time.Second != 0 || f.Gather > time.Hour {
		faults = append(faults, fmt.Errorf("--gather: %s is not in whole seconds, from 1s to 1h", f.Gather))
	}
	if f.MaxWait < 0 {
		faults = append(faults, fmt.Errorf("--max-wait: %s is negative", f.MaxWait))
	}
	if f.KeepAlive <= 0 {
		faults = append(faults, fmt.Errorf("--keep-alive: %s is not positive", f.KeepAlive))
	}
	return errors.Join(faults...)
}

// callers reads the file; nil when there is none. No error holds a key, nor the text of the flag, which may be keys.
func (f GatewayFlags) callers() (*gateway.Callers, error) {
	text := []byte(strings.TrimSpace(f.Callers))
	if len(text) == 0 {
		return nil, nil //nolint:nilnil // nobody in particular may call
	}
	if text[0] != '{' {
		var err error
		if text, err = os.ReadFile(f.Callers); err != nil {
			return nil, fmt.Errorf("--callers: %w", errors.Unwrap(err))
		}
	}
	callers, err := gateway.ParseCallers(text)
	if err != nil {
		return nil, fmt.Errorf("--callers: %w", err)
	}
	return callers, nil
}

// checkListen refuses to open a gateway to other machines that asks nobody for a key.
func (f GatewayFlags) checkListen() error {
	host, _, err := net.SplitHostPort(f.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	ip := net.ParseIP(host)
	if f.Callers != "" || f.AllowAnyone || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen: %s is not this machine alone, and whoever reaches it could spend your money: name keys by --callers, or say --allow-anyone", f.Listen)
}

func buildGateway(d *deps) (Service, error) {
	o, s := d.options.Gateway, d.options.Settings
	listener, err := net.Listen("tcp", o.Listen) //nolint:noctx // it does not block
	if err != nil {
		return nil, fmt.Errorf("take calls: %w", err)
	}
	c := gateway.Config{
		Bus: d.bus, Conn: d.nc, Policies: d.queues, Log: d.log(Gateway), Metrics: gateway.NewMetrics(d.registry), BusID: d.busID,
		Listener: listener, Callers: o.Callers, Queue: o.Queue, Linger: o.Gather, MaxWait: o.MaxWait, KeepAlive: o.KeepAlive, MaxCalls: o.MaxCalls,
		DrainTimeout: s.DrainTimeout,
	}
	if client, ok := d.clients[DefaultKey]; ok {
		c.Models = client
	}
	service, err := gateway.New(c)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	if o.Listening != nil {
		o.Listening(listener.Addr().String())
	}
	return service, nil
}

// Failpoints are those that the environment arms, in programs that were built to have any; nil in all others.
func Failpoints(env Env) (*failpoint.Registry, error) { return failpoints(env) }
