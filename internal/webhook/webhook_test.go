package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/batchbus/batchbus/internal/webhook"
	"github.com/batchbus/batchbus/pkg/doubleword"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func signingKey() []byte { return []byte(strings.Repeat("k", 32)) }

// receiver is one that runs.
type receiver struct {
	t      *testing.T
	url    string
	poked  chan []string
	log    bytes.Buffer
	client http.Client
}

// receive runs a receiver for the time of test.
func receive(t *testing.T, test func(r *receiver)) {
	t.Helper()
	verifier, err := doubleword.NewWebhookVerifier(doubleword.NewSecret("whsec_"+base64.StdEncoding.EncodeToString(signingKey())), 0)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{t: t, url: "http://" + listener.Addr().String() + webhook.Path, poked: make(chan []string, 100), client: http.Client{Transport: &http.Transport{}}}
	s, err := webhook.New(webhook.Config{
		Listen: func(context.Context) (net.Listener, error) { return listener, nil }, Verifier: verifier, Log: zerolog.New(zerolog.SyncWriter(&r.log)),
		Poke: func(_ context.Context, ids []string) error { r.poked <- ids; return errors.New("told, and not fatal") },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	test(r)
	r.client.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if strings.Contains(r.log.String(), "whsec") || strings.Contains(r.log.String(), "batch_") {
		t.Errorf("the log shows too much: %s", &r.log)
	}
}

func event(batch string) string {
	return fmt.Sprintf(`{"type":"batch.completed","data":{"batch_id":%q,"output_file_id":"file_1"}}`, batch)
}

// post sends a webhook signed by key, and returns the answer's status.
func (r *receiver) post(key []byte, id, body string) int {
	r.t.Helper()
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(id + "." + stamp + "." + body))
	return r.send(http.MethodPost, r.url, map[string]string{
		"webhook-id": id, "webhook-timestamp": stamp, "webhook-version": "1", "webhook-signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	}, body)
}

func (r *receiver) send(method, url string, header map[string]string, body string) int {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func (r *receiver) want(what string, got, want int) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s: %d, want %d", what, got, want)
	}
}

func TestAWebhookHasItsBatchPolledWithoutThePrefix(t *testing.T) {
	t.Parallel()
	receive(t, func(r *receiver) {
		r.want("a webhook", r.post(signingKey(), "e1", event("batch_0123")), http.StatusNoContent)
		if ids := <-r.poked; !slices.Equal(ids, []string{"0123"}) {
			t.Errorf("polled %v", ids)
		}
	})
}

// P70: a bad signature is 401, an id that came before means nothing.
func TestP70OnlyTheProvidersOwnWebhooksMeanSomethingAndOnlyOnce(t *testing.T) {
	t.Parallel()
	receive(t, func(r *receiver) {
		r.want("another key's", r.post([]byte("another"), "e1", event("batch_forged")), http.StatusUnauthorized)
		r.want("an unsigned one", r.send(http.MethodPost, r.url, nil, event("batch_forged")), http.StatusUnauthorized)
		r.want("the first", r.post(signingKey(), "e1", event("batch_first")), http.StatusNoContent)
		if ids := <-r.poked; !slices.Equal(ids, []string{"first"}) {
			t.Errorf("polled %v", ids)
		}
		r.want("the first once more", r.post(signingKey(), "e1", event("batch_first")), http.StatusNoContent)
		r.want("about no batch", r.post(signingKey(), "e2", `{"type":"user.created","data":{"user_id":"u"}}`), http.StatusNoContent)
		r.want("no JSON, but signed", r.post(signingKey(), "e3", `<html>`), http.StatusNoContent)
		r.want("the last", r.post(signingKey(), "e4", event("batch_last")), http.StatusNoContent)
		if ids := <-r.poked; !slices.Equal(ids, []string{"last"}) {
			t.Errorf("polled %v", ids)
		}
	})
}

func TestABodyHasALimitAndOtherRequestsAreNone(t *testing.T) {
	t.Parallel()
	receive(t, func(r *receiver) {
		r.want("a big body", r.post(signingKey(), "e1", event(strings.Repeat("x", 64<<10))), http.StatusRequestEntityTooLarge)
		r.want("a GET", r.send(http.MethodGet, r.url, nil, ""), http.StatusMethodNotAllowed)
		r.want("another path", r.send(http.MethodPost, strings.TrimSuffix(r.url, webhook.Path)+"/", nil, ""), http.StatusNotFound)
	})
}

func TestIDsAreRememberedInBoundedMemory(t *testing.T) {
	t.Parallel()
	receive(t, func(r *receiver) {
		for i := range 4097 {
			r.want("a webhook", r.post(signingKey(), fmt.Sprint("e", i), event("batch_b")), http.StatusNoContent)
		}
		for len(r.poked) > 0 {
			<-r.poked
		}
		r.want("a recent one once more", r.post(signingKey(), "e4000", event("batch_recent")), http.StatusNoContent)
		r.want("a forgotten one", r.post(signingKey(), "e0", event("batch_forgotten")), http.StatusNoContent)
		for ids := range r.poked {
			if slices.Contains(ids, "recent") {
				t.Error("a replay was taken")
			}
			if slices.Contains(ids, "forgotten") {
				return
			}
		}
	})
}

func TestAReceiverNeedsItsParts(t *testing.T) {
	t.Parallel()
	if _, err := webhook.New(webhook.Config{}); err == nil {
		t.Error("it is made of nothing")
	}
	verifier := &doubleword.WebhookVerifier{}
	s, err := webhook.New(webhook.Config{
		Listen: webhook.Listen("127.0.0.1:-1"), Verifier: verifier, Poke: func(context.Context, []string) error { return nil },
	})
	if err != nil || s.Name() != "webhook" {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err == nil {
		t.Error("an address that cannot be opened is no fault")
	}
}
