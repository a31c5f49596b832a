package collector_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/collector"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// stopping is a provider during whose call the collector is stopped.
type stopping struct {
	collector.Provider

	stop context.CancelFunc
}

// Content implements [collector.Provider].
func (s stopping) Content(ctx context.Context, _ string, _ doubleword.ContentQuery) (*doubleword.Content, error) {
	s.stop()
	return nil, ctx.Err()
}

func TestAStopIsNoFaultOfTheProvider(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		w.finish("completed", 2, 0)
		w.edit(events.BatchProgress, func(b *events.Batch) {
			b.Why, b.NextTryAt = "provider does not hand out the files", new(time.Now().Add(-time.Minute)) // so a failure now asks for a person
		})
		ctx, stop := context.WithCancel(w.ctx())
		defer stop()
		var log bytes.Buffer
		s := w.service(func(c *collector.Config) {
			c.Log = zerolog.New(&log)
			c.Provider = func(string) (collector.Provider, bool) { return stopping{Provider: w.p, stop: stop}, true }
		})
		if _, err := s.Collect(ctx, queue, job, "1"); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if strings.Contains(log.String(), "held") {
			t.Errorf("log %s", &log)
		}
		if b := w.batch(); b.Hold != nil || b.LastError != "" {
			t.Errorf("hold %v, last error %q", b.Hold, b.LastError)
		}
	})
}

// encoded is a provider behind something that encodes each file.
type encoded struct{ hanging }

// RoundTrip implements http.RoundTripper.
func (e encoded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.hanging.RoundTrip(r)
	if err == nil && (strings.Contains(r.URL.Path, "/files/") || strings.HasSuffix(r.URL.Path, "/results")) {
		resp.Header.Set("Content-Encoding", "gzip")
		resp.Body = io.NopCloser(strings.NewReader("\x1f\x8b\x08"))
	}
	return resp, err
}

func TestEncodedFilesAreHeldByThatNameAndNotTakenForEmptyOnes(t *testing.T) {
	t.Parallel()
	inWorld(t, named(2), func(w *world) {
		client, err := doubleword.New(doubleword.Config{
			BaseURL: "http://localhost/v1", Key: doubleword.NewSecret("k"), RetryTimeout: -1,
			Transport: encoded{hanging{lines: func() string { return "" }}},
		})
		w.ok(err)
		w.finish("completed", 2, 0)
		s := w.service(func(c *collector.Config) {
			c.Provider = func(string) (collector.Provider, bool) { return client, true }
		})
		pass(w.collect(s))
		w.collect(s)
		b := w.batch()
		if b.Hold == nil || b.Hold.Code != events.HoldNeedsAttention || !strings.Contains(b.Hold.Message, "gzip") || strings.Contains(b.Hold.Message, "abandon") {
			t.Errorf("hold %+v", b.Hold)
		}
	})
}
