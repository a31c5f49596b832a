package app_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

const webhookSecret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

func TestTheWebhookSecretComesFromTheEnvironmentAlone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	ok(t, os.WriteFile(file, []byte(webhookSecret+"\n"), 0o600))
	address := app.WebhookFlags{Webhook: ":8090"}
	for _, c := range []struct {
		name    string
		flags   app.WebhookFlags
		service string
		env     map[string]string
		fault   string
		made    bool
	}{
		{"no address is no receiver", app.WebhookFlags{}, app.Poller, nil, "", false},
		{"another service has none", address, app.Collector, nil, "", false},
		{"by the variable", address, app.Poller, map[string]string{app.EnvWebhook: webhookSecret}, "", true},
		{"by the file", address, app.Poller, map[string]string{app.EnvWebhookFile: file}, "", true},
		{"by both", address, app.Poller, map[string]string{app.EnvWebhook: webhookSecret, app.EnvWebhookFile: file}, "set one", false},
		{"by none", address, app.Poller, nil, app.EnvWebhook, false},
		{"a file that is not there", address, app.Poller, map[string]string{app.EnvWebhookFile: file + "x"}, app.EnvWebhookFile, false},
		{"a secret that is none", address, app.Poller, map[string]string{app.EnvWebhook: "planted"}, app.EnvWebhook, false},
		{"an address that is none", app.WebhookFlags{Webhook: "8090"}, app.Poller, map[string]string{app.EnvWebhook: webhookSecret}, "--webhook", true},
	} {
		o, err := c.flags.Hooks(app.Env{Lookup: lookup(c.env)}, []string{c.service})
		if (c.fault == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "planted")) {
			t.Errorf("%s: %v", c.name, err)
		}
		if (o.Verifier != nil) != c.made {
			t.Errorf("%s: %+v", c.name, o)
		}
	}
}

func TestAWebhookHasABatchPolledThatIsNotDueForHours(t *testing.T) {
	t.Parallel()
	local, err := app.OpenLocal(t.Context(), simulated(t.TempDir()))
	ok(t, err)
	t.Cleanup(func() { ok(t, local.Close()) })
	o := local.Options()
	verifier, err := doubleword.NewWebhookVerifier(doubleword.NewSecret(webhookSecret), 0)
	ok(t, err)
	o.Services, o.Webhook = []string{app.Poller}, app.WebhookOptions{Address: freeAddress(t), Verifier: verifier}
	ready, done := make(chan struct{}), make(chan error, 1)
	o.Ready = func() { close(ready) }
	ctx, stop := context.WithCancel(t.Context())
	go func() { done <- app.Run(ctx, o) }()
	<-ready
	states := waitingBatch(t, local)
	for { // the address opens with the service, a moment after it is ready
		if status := postWebhook(t, "http://"+o.Webhook.Address+"/webhook", `{"type":"batch.completed","data":{"batch_id":"batch_remote"}}`); status != 0 {
			if status != http.StatusNoContent {
				t.Fatalf("status %d", status)
			}
			break
		}
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		b, err := states.Batch(t.Context(), "default", "hooked", "1")
		ok(t, err)
		if b.UnknownSince != nil { // the simulator does not know it: it was asked
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it was not polled: %+v", b.Batch)
		}
	}
	stop()
	ok(t, <-done)
}

// waitingBatch stores a batch that is not due for hours.
func waitingBatch(t *testing.T, local *app.Local) *jobs.Store {
	t.Helper()
	bus, err := local.Connect("test")
	ok(t, err)
	t.Cleanup(bus.Close)
	states, now := bus.Jobs, time.Now()
	later, change := now.Add(8*time.Hour), jobs.NewChange(now)
	change.Batch(&jobs.Batch{Batch: events.Batch{
		Queue: "default", Job: "hooked", N: "1", State: events.BatchSubmitted, SinceAt: now, SubmittedAt: &now, NextPollAt: &later,
		Key: app.DefaultKey, Rows: 1, ProviderBatchID: "remote",
	}})
	ok(t, states.Commit(t.Context(), change))
	return states
}

// postWebhook sends a webhook that is signed; status 0: nobody answers.
func postWebhook(t *testing.T, url, body string) int {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(webhookSecret, "whsec_"))
	ok(t, err)
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte("evt." + stamp + "." + body))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	ok(t, err)
	r.Header.Set("Webhook-Id", "evt")
	r.Header.Set("Webhook-Timestamp", stamp)
	r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}
