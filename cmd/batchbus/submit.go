package main

import (
	"context"
	"fmt"

	"github.com/batchbus/batchbus/internal/app"
)

type submitCommand struct {
	jobFlags
	Wait bool `help:"Wait for the job's end and write its answers to files, as run does."`
	waitFlags
	outFlags

	busFlags
	servingFlags
}

// run publishes files as a job and leaves it to whoever serves the bus, or waits for it. Serving flags count for --data only.
func (s *submitCommand) run(ctx context.Context, env app.Env) (int, error) {
	local, faults := s.local(env, s.Data, s.storeFlags)
	_, formatErr := formatOf(s.Format)
	faults = append(faults, s.waitFlags.check(), s.busFlags.check(), flagError("--format", formatErr))
	provider, where, simulated := "", "to a NATS server", (*bool)(nil)
	if s.Data != "" {
		provider, where, simulated = local.ProviderName(), "data in "+s.Data, &local.Simulate
	}
	job, err := s.submission(ctx, env, provider, faults)
	if err != nil {
		return ended(ctx, env, app.ExitFault, err, nothingBegun)
	}
	defer job.close()
	if s.Wait {
		if err := checkOut(s.folder(job.id.job), job.id.job, simulated); err != nil {
			return app.ExitFault, err
		}
	}
	job.announce(where)
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var code int
	if s.Wait {
		code, err = s.served(ctx, env, local, func(ctx context.Context, bus *app.Bus) (int, error) {
			code, err := job.deliver(ctx, bus, s.outFlags, simulated)
			return code, causeOf(ctx, err)
		})
	} else {
		code, err = s.answered(ctx, local, func(ctx context.Context, bus *app.Bus) (int, error) {
			return job.hand(ctx, bus, s.JSON)
		})
	}
	return ended(ctx, env, code, err, job.whatNow())
}

// submitted is what submit prints for programs when it does not wait.
type submitted struct {
	Job         string `json:"job"`
	Queue       string `json:"queue"`
	Rows        int    `json:"rows"`
	InputSHA256 string `json:"input_sha256"`
}

// hand publishes the job and leaves it.
func (s *submission) hand(ctx context.Context, bus *app.Bus, asJSON bool) (int, error) {
	job, err := s.open(ctx, bus.Client)
	if err != nil {
		return app.ExitFault, err
	}
	bar := newProgress(s.env, s.rows)
	defer bar.stop()
	if err := s.publish(ctx, bus.Client, &job, bar.published); err != nil {
		return app.ExitFault, err
	}
	bar.stop()
	say(s.env, "job %s is submitted: batchbus wait %s", s.id.job, named(s.id.queue, s.id.job))
	if asJSON {
		return app.ExitOK, printJSON(s.env, submitted{
			Job: s.id.job, Queue: s.id.queue, Rows: s.rows, InputSHA256: inputDigest(s.inputs),
		})
	}
	if _, err := fmt.Fprintln(s.env.Stdout, printable(s.id.job)); err != nil {
		return app.ExitFault, fmt.Errorf("print job: %w", err)
	}
	return app.ExitOK, nil
}
