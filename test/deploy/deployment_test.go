package deploy_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const queue = "default"

// shape is what is deployed.
type shape struct {
	replicas  int      // of each service
	services  []string // flags of every service, beside quick ones
	simulator []string // flags of the simulator
	cluster   bool     // three NATS nodes by deploy/nats.conf, and a simulator behind TLS, as compose.yaml has them
}

// services are the four programs in the order in which a row meets them.
func services() []string { return []string{"ingest", "submitter", "poller", "collector"} }

// deployment is batchbus on a nats-server of its own.
type deployment struct {
	t        *testing.T
	bus      *process
	nodes    []*process // bus is the first
	url      string
	provider string   // base URL without /v1
	trust    []string // environment by which services trust the provider
	http     *http.Client
	running  map[string][]*process
	client   *client.Client
	store    *jetstore.Store
	js       jetstream.JetStream
}

// deploy starts everything and returns once all replicas are ready.
func deploy(t *testing.T, s shape) *deployment {
	t.Helper()
	d := &deployment{t: t, running: map[string][]*process{}, http: http.DefaultClient}
	if s.cluster {
		d.startCluster()
	} else {
		d.startBus()
	}
	d.openStore()
	d.startProvider(&s)
	addresses := map[string]*process{}
	for _, name := range services() {
		for range s.replicas {
			admin := freeAddress(t)
			addresses[admin] = d.serve(name, admin, s.services)
			d.running[name] = append(d.running[name], addresses[admin])
		}
	}
	for address, p := range addresses {
		eventually(t, "every replica is ready", func() bool {
			if p.ended() {
				t.Fatalf("%s has ended", p.name)
			}
			return ready(t, address)
		})
	}
	return d
}

// startBus starts one nats-server.
func (d *deployment) startBus() {
	d.t.Helper()
	dir, address := d.t.TempDir(), freeAddress(d.t)
	config := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("listen: %q\nmax_payload: 8MB\njetstream: {store_dir: %q, max_memory_store: 64MB}\n", address, filepath.Join(dir, "store"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.bus, d.url = launch(d.t, "nats-server", nil, "-c", config), "nats://"+address
	d.nodes = []*process{d.bus}
}

// openStore connects the test itself.
func (d *deployment) openStore() {
	d.t.Helper()
	store, err := jetstore.Open(d.connect())
	if err != nil {
		d.t.Fatal(err)
	}
	d.store, d.client, d.js = store, client.New(store), store.JetStream()
}

// connect opens one more connection of the test's own, which comes back when the server does.
func (d *deployment) connect() *nats.Conn {
	d.t.Helper()
	var conn *nats.Conn
	eventually(d.t, "the nats-server takes connections", func() (up bool) {
		var err error
		conn, err = nats.Connect(d.url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
		return err == nil
	})
	d.t.Cleanup(conn.Close)
	return conn
}

// serve starts one replica with times that suit a provider without hours to wait for.
func (d *deployment) serve(name, admin string, more []string) *process {
	d.t.Helper()
	flags := []string{
		"--nats=" + d.url, "--setup", "--ack-wait=5s", "--admin=" + admin, "--log-level=warn", "--provider-url=" + d.provider + "/v1",
		"--create-timeout=5s", "--quiet-period=1s", "--poll-floor=1s", "--poll-ceiling=2s", "--missing-grace=1s", "--cancel-grace=1s",
		"--sweep-interval=2s",
	}
	return launch(d.t, name, append([]string{"DOUBLEWORD_API_KEY=deployed"}, d.trust...), append(flags, more...)...)
}

// killAndRestart ends one replica in the middle of what it does and starts it again.
func (d *deployment) killAndRestart(name string) {
	d.t.Helper()
	p := d.running[name][0]
	p.kill()
	p.start()
}

// wantQuietEnd asks every replica to end, and checks that none had ended before.
func (d *deployment) wantQuietEnd() {
	d.t.Helper()
	for name, replicas := range d.running {
		for _, p := range replicas {
			if code := p.stop(); code != 143 {
				d.t.Errorf("%s ends with %d after SIGTERM, want 143", name, code)
			}
		}
	}
}

func ready(t *testing.T, address string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer reply.Body.Close()
	return reply.StatusCode == http.StatusOK
}

// freeAddress is a loopback address that nobody listens on at the moment.
func freeAddress(t *testing.T) string {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
}

// within is a context for one wait.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
