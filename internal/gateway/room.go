package gateway

import (
	"context"
	"net/http"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	// bodyRoom bounds the bodies that are read and published at one time, answerRoom the answers that are being handed over. Both are in
	// memory several times over for a moment.
	bodyRoom   = 64 << 20
	answerRoom = 64 << 20
	// smallAnswer is what an answer counts at least: reading a thousand at once would help nobody.
	smallAnswer = 256 << 10
)

// room bounds bytes in memory. It is safe for concurrent use.
type room struct {
	total int64
	bytes *semaphore.Weighted
}

func newRoom(total int64) *room { return &room{total, semaphore.NewWeighted(total)} }

// take waits for room for n bytes, or until ctx ends. Call release once or more often.
func (r *room) take(ctx context.Context, n int64) (release func(), err error) {
	n = min(max(n, 1), r.total)
	if err := r.bytes.Acquire(ctx, n); err != nil {
		return nil, err //nolint:wrapcheck // ctx's own
	}
	return sync.OnceFunc(func() { r.bytes.Release(n) }), nil
}

// makeRoom waits for room for the body of a call.
func (s *Service) makeRoom(r *http.Request) (release func(), f *fault) {
	n := r.ContentLength
	if n < 0 {
		n = bodyRoom / 8 // as large as a row may be, and its length is not said
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.BodyTimeout)
	defer cancel()
	release, err := s.bodies.take(ctx, n)
	if err != nil {
		return nil, &fault{
			status: http.StatusTooManyRequests, code: "too_many_bytes", retryAfter: retryPause, message: "the gateway is busy with other large bodies",
		}
	}
	return release, nil
}
