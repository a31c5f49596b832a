package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/batchbus/batchbus/internal/app"
)

type devCommand struct {
	Listen string `default:"127.0.0.1:4222" help:"Address where NATS clients are taken, without credentials: keep it on this machine."`
	Data   string `default:".batchbus" help:"Folder of the embedded bus. It serves one provider and one process at a time."`
	storeFlags
	servingFlags
}

// run is everything of run, for any NATS client, until it is stopped.
func (d *devCommand) run(ctx context.Context, env app.Env) (int, error) {
	local, faults := d.local(env, d.Data, d.storeFlags)
	_, _, err := net.SplitHostPort(d.Listen)
	if err := errors.Join(append(faults, flagError("--listen", err))...); err != nil {
		return app.ExitFault, err
	}
	local.Listen = d.Listen
	tellProvider(env, &local)
	code, err := serving(ctx, env, local, func(ctx context.Context, l *app.Local) (int, error) {
		if err := tellHow(env, l.ClientURL(), d.Data); err != nil {
			return app.ExitFault, err
		}
		<-ctx.Done()
		return app.ExitFault, context.Cause(ctx)
	})
	return ended(ctx, env, code, err, "What was sent goes on at the provider; the same command takes it up again: nothing is lost or paid twice.")
}

// tellHow says what a person does next.
func tellHow(env app.Env, url, dir string) error {
	_, err := fmt.Fprintf(env.Stdout, `batchbus is ready at %[1]s, its data in %[2]s. Ctrl-C stops it.

Publish rows, each acknowledged, and seal the job:
  nats -s %[1]s pub -J --no-templates batchbus.requests.default.my-job '{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"Hello"}]}}'
  nats -s %[1]s pub -J --no-templates batchbus.requests.default.my-job -H Batchbus-Seal:true ""
Or from a file:
  batchbus submit rows.jsonl --nats %[1]s --wait

Results are at batchbus.results.default.my-job.> in the stream BATCHBUS_RESULTS, what was refused in BATCHBUS_DEADLETTERS:
  nats -s %[1]s sub --all --stream BATCHBUS_RESULTS 'batchbus.results.default.my-job.>'
`, url, dir)
	if err != nil {
		return fmt.Errorf("say that it is ready: %w", err)
	}
	return nil
}
