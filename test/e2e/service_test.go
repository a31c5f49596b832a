//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/natsd"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// busServer is a NATS server that is not batchbus' own, and a connection to it.
func busServer(t *testing.T) (url string, store *jetstore.Store) {
	t.Helper()
	server, err := natsd.Start(t.Context(), natsd.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", MaxStore: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	nc, err := nats.Connect(server.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if store, err = jetstore.Open(nc); err != nil {
		t.Fatal(err)
	}
	return server.ClientURL(), store
}

// slowProvider is a simulator whose answer to the paid call waits for release.
type slowProvider struct {
	url     string
	posted  chan struct{} // closed when the paid call has arrived
	release func()
}

func newSlowProvider(t *testing.T) *slowProvider {
	t.Helper()
	fake, err := simulator.New(simulator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	let := make(chan struct{})
	p := &slowProvider{posted: make(chan struct{}), release: sync.OnceFunc(func() { close(let) })}
	seen := sync.OnceFunc(func() { close(p.posted) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/batches") {
			seen()
			<-let
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { p.release(); server.Close(); _ = fake.Close() })
	p.url = server.URL + "/v1"
	return p
}

// service starts a service's program and waits until it is ready.
func service(t *testing.T, name, bus, provider string) (p *process, admin string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	admin = l.Addr().String()
	l.Close()
	env := []string{"BATCHBUS_NATS=" + bus, "DOUBLEWORD_API_KEY=k", "BATCHBUS_PROVIDER_URL=" + provider, "BATCHBUS_ADMIN=" + admin}
	p = startProgram(t, name, t.TempDir(), env, "--drain-timeout=30s", "--sweep-interval=1s")
	await(t, name+" is ready", func() bool {
		probe := startProgram(t, name, t.TempDir(), env, "--health").wait(t)
		return probe.code == 0 && probe.stdout == "ready: ok\n"
	})
	return p, admin
}

// await asks again and again, for half a minute.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

func statusOf(t *testing.T, admin, path string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

// posting is a submitter in the middle of its paid call.
func posting(t *testing.T) (submitter *process, admin string, provider *slowProvider, store *jetstore.Store) {
	t.Helper()
	bus, store := busServer(t)
	batchbus(t, t.TempDir(), []string{"BATCHBUS_NATS=" + bus}, "setup").want(t, 0)
	provider = newSlowProvider(t)
	ingest, _ := service(t, "ingest", bus, provider.url)
	t.Cleanup(func() { _ = ingest.cmd.Process.Kill(); ingest.wait(t) })
	submitter, admin = service(t, "submitter", bus, provider.url)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := client.New(store)
	n, err := c.Publish(ctx, client.Input{Queue: "default", Job: "j", Rows: strings.NewReader(fmt.Sprintf(goodRow, "a")), Digest: "d"})
	if err == nil {
		err = c.Seal(ctx, "default", "j", n)
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-provider.posted:
	case <-ctx.Done():
		t.Fatal("no batch was created")
	}
	return submitter, admin, provider, store
}

func TestAServiceThatIsToldToStopFinishesItsPaidCall(t *testing.T) {
	t.Parallel()
	submitter, admin, provider, store := posting(t)
	if err := submitter.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, "it says that it drains", func() bool {
		status, text := statusOf(t, admin, "/readyz")
		return status == http.StatusServiceUnavailable && text == "draining\n"
	})
	if status, text := statusOf(t, admin, "/livez"); status != http.StatusOK {
		t.Errorf("it does not live while it drains: %d %s", status, text)
	}
	provider.release()
	submitter.wait(t).want(t, 143)
	b, err := jobs.New(store).Batch(t.Context(), "default", "j", "1")
	if err != nil || b.State != events.BatchSubmitted || b.ProviderBatchID == "" {
		t.Errorf("the answer of the paid call is lost: %+v, %v", b.Batch, err)
	}
}

func TestASecondSignalEndsAServiceAtOnce(t *testing.T) {
	t.Parallel()
	submitter, admin, _, _ := posting(t)
	for range 2 {
		if err := submitter.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		await(t, "it does not serve as before", func() bool {
			status, _ := statusOf(t, admin, "/readyz")
			return status != http.StatusOK
		})
	}
	submitter.wait(t).want(t, 143) // it could drain for 30 s more, and the paid call has no answer
	if status, _ := statusOf(t, admin, "/livez"); status != 0 {
		t.Errorf("it lives: %d", status)
	}
}

func TestSetupIsIdempotentAndTellsHowABusDiffers(t *testing.T) {
	t.Parallel()
	bus, store := busServer(t)
	dir := t.TempDir()
	for range 2 {
		o := batchbus(t, dir, nil, "setup", "--nats", bus)
		if o.want(t, 0); !strings.Contains(o.stdout, "has all streams") {
			t.Errorf("it says %q", o.stdout)
		}
	}
	if err := jetstore.Check(t.Context(), store.JetStream(), jetstore.Settings{KeepSizes: true}); err != nil {
		t.Error(err)
	}
	js := store.JetStream()
	for _, name := range []string{jetstore.StreamResults, jetstore.StreamEvents} {
		stream, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		config := stream.CachedInfo().Config
		config.MaxAge = time.Hour
		if _, err := js.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	o := batchbus(t, dir, nil, "setup", "--nats", bus)
	o.want(t, 2, jetstore.StreamResults, jetstore.StreamEvents, "max_age", "1h0m0s")
	startProgram(t, "ingest", dir, []string{"BATCHBUS_ADMIN="}, "--nats", bus).wait(t).want(t, 2, jetstore.StreamResults, "max_age")
	batchbus(t, dir, nil, "setup", "--nats", "nats://127.0.0.1:1", "--creds", "nowhere", "--tls-cert", "half").want(t, 2, "--creds: ", "need each other")
}
