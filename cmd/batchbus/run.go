package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// memoryLimit is where a run's garbage collector begins to work harder: what a job of any size needs, bus and simulator included, and
// well below the 500 MiB that one may take. GOMEMLIMIT overrides it.
const memoryLimit = 360 << 20

// stallInterval is after how long without an acknowledgement a run says that the bus takes nothing.
const stallInterval = 10 * time.Second

// errTimeout is the cause of a run that --timeout ended.
var errTimeout = errors.New("timeout reached")

func (r *runCommand) run(ctx context.Context, env app.Env) (int, error) {
	p, err := r.plan(env)
	if err != nil {
		return app.ExitFault, err
	}
	if r.Timeout != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, *r.Timeout, errTimeout)
		defer cancel()
	}
	if _, set := env.Lookup("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(memoryLimit)
	}
	p.announce()
	if err := app.CheckDir(p.local.Dir, p.local.ProviderName()); err != nil {
		return app.ExitFault, err
	}
	if err := p.preflight(ctx); err != nil {
		return p.stopped(ctx, err)
	}
	local, err := app.OpenLocal(ctx, p.local)
	if err != nil {
		return p.stopped(ctx, err)
	}
	code, err := p.on(ctx, local)
	return code, errors.Join(err, local.Close())
}

// on runs the services on local, and the job beside them.
func (p *plan) on(ctx context.Context, local *app.Local) (int, error) {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ready, served := make(chan struct{}), make(chan error, 1)
	options := local.Options()
	options.Ready = func() { close(ready) }
	go func() { served <- app.Run(serving, options) }()
	select {
	case err := <-served:
		return p.stopped(ctx, err)
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
	code, err := p.work(working, local)
	stop()
	return code, errors.Join(err, <-done)
}

// work opens the job, publishes what is not published yet, and follows it to its end.
func (p *plan) work(ctx context.Context, local *app.Local) (int, error) {
	bus, err := local.Connect("batchbus-run")
	if err != nil {
		return p.stopped(ctx, err)
	}
	defer bus.Close()
	job, err := bus.Jobs.Open(ctx, p.queue, p.job, jobs.Options{
		Policy: p.policy, Description: p.cmd.Description, InputSHA256: inputDigest(p.inputs),
	})
	if err != nil {
		return p.stopped(ctx, err)
	}
	if job.InputSHA256 != inputDigest(p.inputs) {
		return app.ExitFault, fmt.Errorf("job %s already holds another input: choose another --job", p.job)
	}
	p.begun = true
	p.resuming(&job.Job)
	f, err := newFollower(p, bus)
	if err != nil {
		return p.stopped(ctx, err)
	}
	err = p.publish(ctx, bus.Client, &job.Job, f.progress)
	if err == nil {
		err = f.follow(ctx)
	}
	if err != nil {
		code, err := p.stopped(ctx, err)
		return code, errors.Join(err, f.keep())
	}
	return f.finish()
}

// publish publishes every input and the seal, unless the job is sealed already: its rows are all there then. Publishing what is there is
// harmless, so a run that was killed in the middle of it just begins again.
func (p *plan) publish(ctx context.Context, c *client.Client, job *events.Job, progress *progress) error {
	if job.SealedAt != nil {
		return nil
	}
	stalled := time.AfterFunc(stallInterval, func() {
		p.say("the bus has taken no rows for %s: it is full (see --max-store) or slow; waiting", stallInterval)
	})
	defer stalled.Stop()
	total := 0
	for i, in := range p.inputs {
		before := total
		n, err := p.publishFile(ctx, c, i, in, func(rows int) {
			stalled.Reset(stallInterval)
			progress.published(before + rows)
		})
		if err != nil {
			return err
		}
		total += n
	}
	if total != p.rows {
		return fmt.Errorf("the files held %d rows when they were checked and %d when they were published: the job is not sealed", p.rows, total)
	}
	return c.Seal(ctx, p.queue, p.job, total)
}

func (p *plan) publishFile(ctx context.Context, c *client.Client, i int, in input, published func(rows int)) (int, error) {
	file, err := openRows(in.path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return c.Publish(ctx, client.Input{
		// The same file given twice is two inputs, whose rows are then duplicates of each other.
		Queue: p.queue, Job: p.job, Rows: file, Digest: fmt.Sprintf("%d-%s", i, in.digest), Published: published,
	})
}

// whatNow is what became of a run that was stopped.
func (p *plan) whatNow() string {
	if !p.begun {
		return "Nothing was published."
	}
	return "What was sent goes on at the provider; the same command resumes: nothing is lost or paid twice."
}

// stopped says why a run ended before its job did, and what became of it.
func (p *plan) stopped(ctx context.Context, err error) (int, error) {
	cause := context.Cause(ctx)
	var signal *app.SignalError
	switch {
	case cause == nil:
		return app.ExitFault, err
	case errors.As(cause, &signal):
		p.say("%v. %s", cause, p.whatNow())
		return app.ExitCode(ctx, nil), nil
	case errors.Is(cause, errTimeout) && !p.begun:
		return app.ExitFault, errors.Join(fmt.Errorf("%w after %s: %s", cause, p.cmd.Timeout.Round(time.Second), p.whatNow()), err)
	case errors.Is(cause, errTimeout):
		return app.ExitFault, fmt.Errorf("%w after %s: the job goes on; the same command resumes it", cause, p.cmd.Timeout.Round(time.Second))
	default:
		return app.ExitFault, errors.Join(err, cause)
	}
}
