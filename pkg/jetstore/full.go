package jetstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// fullMemory is for how long a refusal says that a stream is full: longer than a consumer that gives its message back waits before it tries
// again, and short enough that one which never tries again is not believed for ever.
const fullMemory = 6 * time.Minute

// FullError is returned when time was up while a stream refused a message because it, or its server, holds all that it may. The message
// was not stored by a try that was answered.
type FullError struct {
	Stream string
	Err    error // the server's own words
}

// Error names the stream.
func (e *FullError) Error() string { return e.Stream + " is full: " + e.Err.Error() }

// Unwrap is the server's answer.
func (e *FullError) Unwrap() error { return e.Err }

// Full is a stream that refuses what is published to it.
type Full struct {
	Stream  string
	SinceAt time.Time // when it refused first
	LastAt  time.Time // when it refused last
}

// fullness is which streams refuse what a store publishes. It is safe for concurrent use.
type fullness struct {
	any atomic.Bool // whether one may: so that a publish to a bus with room costs nothing

	mu     sync.Mutex
	report func(full Full, ended bool)
	all    map[string]refusals
}

// refusals are those of one stream, without a success between them.
type refusals struct{ first, last time.Time }

// OnFull makes the store tell when a stream begins to refuse its messages for want of room, and, with ended, when one was taken again.
// The store goes on trying either way. Report is called by whoever publishes and must not block.
func (s *Store) OnFull(report func(full Full, ended bool)) {
	s.full.mu.Lock()
	defer s.full.mu.Unlock()
	s.full.report = report
}

// FullStreams are the streams that refused the last message which this store published to them, for want of room, in the last six minutes.
func (s *Store) FullStreams() []Full {
	s.full.mu.Lock()
	defer s.full.mu.Unlock()
	var all []Full
	for stream, r := range s.full.all {
		if time.Since(r.last) < fullMemory {
			all = append(all, Full{stream, r.first, r.last})
		}
	}
	return all
}

// heard takes note of what a publish came to.
func (f *fullness) heard(subject string, err error) {
	if full := isFull(err); full || f.any.Load() && (err == nil || Classify(err) == Already) {
		f.note(streamOf(subject), full)
	}
}

func (f *fullness) note(stream string, full bool) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	r, was := f.all[stream]
	was = was && now.Sub(r.last) < fullMemory
	switch {
	case full && was:
		f.all[stream] = refusals{r.first, now}
	case full:
		f.all[stream] = refusals{now, now}
		f.any.Store(true)
	default:
		delete(f.all, stream)
		f.any.Store(len(f.all) > 0)
	}
	if f.report != nil && full != was {
		if full {
			r = refusals{now, now}
		}
		f.report(Full{stream, r.first, r.last}, !full)
	}
}

// isFull tells the refusals for want of room: of a stream that is at its limit, of an account, or of the server's disk. They pass when
// there is room.
func isFull(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return false
	}
	switch api.ErrorCode {
	case codeAccountFull, codeServerFull, codeDiskFull:
		return true
	case codeStoreFailed:
		return api.Description == "maximum bytes exceeded" || api.Description == "maximum messages exceeded"
	default:
		return false
	}
}

// outOfTime is the error of a publish that was repeated until ctx ended; err is what the last answered try came to.
func outOfTime(subject string, err error) error {
	if isFull(err) {
		err = &FullError{Stream: streamOf(subject), Err: err}
	}
	return fmt.Errorf("publish %s: %w", subject, err)
}

// streamOf is the stream that a subject belongs to.
func streamOf(subject string) string {
	for prefix, stream := range map[string]string{
		"batchbus.requests.": StreamRequests, "batchbus.rows.": StreamRows, "batchbus.results.": StreamResults,
		"batchbus.deadletters.": StreamDeadletters, tickSet: StreamTimers, keyPrefix: StreamJobs, "batchbus.events.": StreamJobs,
		"$O." + BucketObjects + ".": StreamObjects, queuePrefix: StreamQueues, callPrefix: StreamCalls,
	} {
		if strings.HasPrefix(subject, prefix) {
			return stream
		}
	}
	return subject
}

// Size is how many bytes a stream holds and may hold; without a limit of its own, limit is -1. After an error nothing is known.
func (s *Store) Size(ctx context.Context, stream string) (bytes uint64, limit int64, err error) {
	handle, err := s.js.Stream(ctx, stream)
	if err != nil {
		return 0, 0, fmt.Errorf("look at size of %s: %w", stream, err)
	}
	info := handle.CachedInfo()
	return info.State.Bytes, info.Config.MaxBytes, nil
}
