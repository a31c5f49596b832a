package ingest

import (
	"errors"
	"time"
)

// Delays of messages that go back, by the number of their delivery. A seal waits for rows that are being stored at this moment; what
// failed waits for a bus or a store that is ill, so it is not asked for every second.
const (
	firstSealDelay  = 50 * time.Millisecond
	maxSealDelay    = 5 * time.Second
	firstRetryDelay = time.Second
	maxRetryDelay   = 5 * time.Minute
	// noRoomDelay is how long rows of a job that may not be opened wait.
	noRoomDelay = time.Minute
)

// retryDelay is how long a message waits that failed. A seal was delivered many times before, as a rule, without a failure: how often says
// nothing of the bus, and the job waits for it.
func retryDelay(why error, seal bool, delivered int) time.Duration {
	switch {
	case errors.Is(why, errNoRoom):
		return noRoomDelay
	case seal:
		return maxSealDelay
	default:
		return growing(firstRetryDelay, maxRetryDelay, delivered)
	}
}

// growing doubles from first to most with each delivery, which count from 1.
func growing(first, most time.Duration, delivered int) time.Duration {
	delay := first
	for i := 1; i < delivered && delay < most; i++ {
		delay *= 2
	}
	return min(delay, most)
}
