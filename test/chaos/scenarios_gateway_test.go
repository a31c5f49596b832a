package chaos_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/test/rig"
)

// called: programs call the gateway, with and without a key, one of them with a body too big for a message, and repeat what breaks as SDKs do.
func called() []scenario {
	return []scenario{{
		name: "called",
		madeFor: []failpoint.Point{
			"gateway.commit.call", "gateway.publish.requests", "gateway.publish.object_chunk", "gateway.publish.object", "gateway.call.list_models",
		},
		run: func(w *world) {
			for range max(1, len(w.Running["ingest"])) {
				w.begun(w.Add(rig.Gateway))
			}
			tries := atomic.Int64{}
			w.asked("the calls", func() error {
				ctx, cancel := context.WithTimeout(w.t.Context(), caseTimeout)
				defer cancel()
				gateways := w.Running[rig.Gateway]
				base := gateways[int(tries.Add(1))%len(gateways)].URL
				retried := strconv.FormatInt(tries.Load()-1, 10)
				var all errgroup.Group
				all.Go(func() error { return call(ctx, base, "/models", "", nil) })
				for i, question := range []string{"one", "two", strings.Repeat("long ", 60_000)} {
					header := http.Header{"Idempotency-Key": {strconv.Itoa(i)}}
					all.Go(func() error { return call(ctx, base, "/chat/completions", question, header) })
				}
				all.Go(func() error {
					return call(ctx, base, "/chat/completions", "no key", http.Header{"X-Stainless-Retry-Count": {retried}})
				})
				return all.Wait()
			})
		},
		want: expectation{dues: []due{{published: 4, outcomes: map[string]int{"succeeded": 4}}}},
	}}
}

// call makes one call of the gateway, whose answer must be a good one.
func call(ctx context.Context, base, path, question string, header http.Header) error {
	method, body := http.MethodPost, `{"model":"m","messages":[{"role":"user","content":"`+question+`"}]}`
	if question == "" {
		method, body = http.MethodGet, ""
	}
	r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	maps.Copy(r.Header, header)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	reply, err := client.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode != http.StatusOK {
		err = errors.New(reply.Status + ": " + string(text))
	}
	return err
}
