package doubleword_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

func TestContentThatStandsStillEnds(t *testing.T) {
	t.Parallel()
	client := newClient(t, stalled(t, "one\n"), func(c *doubleword.Config) { c.IdleTimeout = 500 * time.Millisecond })
	content, err := client.Content(t.Context(), "f", doubleword.ContentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Body.Close()
	got, err := io.ReadAll(content.Body)
	if e := asError(t, err); string(got) != "one\n" || !errors.Is(err, doubleword.ErrIdle) || e.Class != doubleword.Retryable {
		t.Errorf("%q, %v", got, err)
	}
	silent := newServer(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	client = newClient(t, silent, func(c *doubleword.Config) { c.IdleTimeout = 500 * time.Millisecond })
	if _, err := client.Content(t.Context(), "f", doubleword.ContentQuery{}); !errors.Is(err, doubleword.ErrIdle) {
		t.Errorf("no headers: %v", err)
	}
}

func TestADownloadOfAByteNowAndThenEnds(t *testing.T) {
	t.Parallel()
	const pause, idle = 20 * time.Millisecond, 300 * time.Millisecond
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		ticks := time.NewTicker(pause)
		defer ticks.Stop()
		for r.Context().Err() == nil {
			<-ticks.C
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
		}
	})
	client := newClient(t, server, func(c *doubleword.Config) { c.IdleTimeout = idle })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	content, err := client.Content(ctx, "f", doubleword.ContentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Body.Close()
	if _, err := io.ReadAll(content.Body); !errors.Is(err, doubleword.ErrIdle) || doubleword.ClassOf(err) != doubleword.Retryable {
		t.Errorf("error %v", err)
	}
}

func TestATransferThatMovesOutlivesEveryTimeout(t *testing.T) {
	t.Parallel()
	const pieces, pause, idle = 50, 60 * time.Millisecond, 2 * time.Second // in all it takes longer than it may be idle
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		ticks := time.NewTicker(pause)
		defer ticks.Stop()
		for range pieces {
			<-ticks.C
			_, _ = io.WriteString(w, strings.Repeat("x", 100))
			_ = http.NewResponseController(w).Flush()
		}
	})
	client := newClient(t, server, func(c *doubleword.Config) {
		c.CallTimeout, c.CreateTimeout, c.IdleTimeout = pause, pause, idle
	})
	content, err := client.Content(t.Context(), "f", doubleword.ContentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Body.Close()
	if got, err := io.ReadAll(content.Body); err != nil || len(got) != 100*pieces {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestASlowConsumerIsNotAnIdleTransfer(t *testing.T) {
	t.Parallel()
	const idle = 500 * time.Millisecond
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 4<<20))
	})
	client := newClient(t, server, func(c *doubleword.Config) { c.IdleTimeout = idle })
	content, err := client.Content(t.Context(), "f", doubleword.ContentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Body.Close()
	<-time.NewTimer(2 * idle).C
	_, _ = io.CopyN(io.Discard, content.Body, 1000)
	<-time.NewTimer(2 * idle).C
	if n, err := io.Copy(io.Discard, content.Body); err != nil || n != 4<<20-1000 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
