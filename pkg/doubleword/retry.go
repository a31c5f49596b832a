package doubleword

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// firstRetryWait is short because most retryable failures are one lost connection.
const firstRetryWait = 250 * time.Millisecond

// repeat runs a safe attempt until it succeeds, fails for good, or the retry timeout has no room for the next wait: the longer of the
// back-off's and the provider's Retry-After. It returns the last attempt's error as it is. One that gave way to others
// ([ErrCrowded]) is for the caller to repeat, who can wait longer; so is one that a while does not cure ([ErrEncoded]).
func (c *Client) repeat(ctx context.Context, attempt func() error) error {
	// A BackOff has state, so every call has its own; its default limit is 15 minutes, so the limit is explicit.
	waits := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstRetryWait),
		backoff.WithMaxElapsedTime(max(0, c.config.RetryTimeout)),
	)
	for {
		err := attempt()
		if err == nil || ClassOf(err) != Retryable || ctx.Err() != nil || errors.Is(err, ErrCrowded) || errors.Is(err, ErrEncoded) {
			return err
		}
		wait := nextWait(waits, err)
		if wait == backoff.Stop || waits.GetElapsedTime()+wait > c.config.RetryTimeout || !sleep(ctx, wait) {
			return err
		}
	}
}

func nextWait(waits backoff.BackOff, err error) time.Duration {
	wait := waits.NextBackOff()
	var e *Error
	if wait != backoff.Stop && errors.As(err, &e) {
		wait = max(wait, e.RetryAfter)
	}
	return wait
}

// sleep reports whether the whole time passed.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
