package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/app"
)

// errTimeout is the cause of a wait that --timeout ended.
var errTimeout = errors.New("timeout reached")

// waitFlags bound a wait.
type waitFlags struct {
	Timeout *time.Duration `help:"Stop waiting after this long; the job itself goes on. Default: wait for ever."`
}

// check refuses a wait that would end before it began.
func (f *waitFlags) check() error {
	if f.Timeout != nil && *f.Timeout <= 0 {
		return fmt.Errorf("--timeout: %s is not positive", *f.Timeout)
	}
	return nil
}

// bound ends ctx after the timeout, if there is one.
func (f *waitFlags) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.Timeout == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, *f.Timeout, fmt.Errorf("%w after %s", errTimeout, f.Timeout.Round(time.Second)))
}

const (
	nothingBegun = "Nothing was published."
	jobGoesOn    = "What was sent goes on at the provider; the same command resumes: nothing is lost or paid twice."
)

// ended says why a command ended before its work was done, and what became of it. An error that came by itself stays as it is.
func ended(ctx context.Context, env app.Env, code int, err error, whatNow string) (int, error) {
	cause := context.Cause(ctx)
	var signal *app.SignalError
	switch {
	case err == nil || cause == nil:
		return code, err
	case errors.As(cause, &signal):
		say(env, "%v. %s", cause, whatNow)
		return app.ExitCode(ctx, nil), nil
	case errors.Is(cause, errTimeout) && whatNow == jobGoesOn:
		return app.ExitFault, fmt.Errorf("%w: the job goes on; the same command resumes it", cause)
	case errors.Is(cause, errTimeout):
		if errors.Is(err, errTimeout) {
			err = nil
		}
		return app.ExitFault, errors.Join(fmt.Errorf("%w: %s", cause, whatNow), err)
	default:
		return app.ExitFault, errors.Join(err, cause)
	}
}

// say prints one line for people.
func say(env app.Env, format string, args ...any) {
	fmt.Fprintln(env.Stderr, "batchbus: "+printable(fmt.Sprintf(format, args...)))
}
