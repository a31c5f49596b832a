//go:build unix

package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// StartBus starts one nats-server, or the three nodes of the shape's cluster.
func (d *Deployment) StartBus() {
	d.t.Helper()
	if d.shape.Cluster {
		d.startCluster()
		return
	}
	dir, address := d.t.TempDir(), FreeAddress(d.t)
	config := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("listen: %q\nmax_payload: 8MB\njetstream: {store_dir: %q, max_memory_store: 64MB}\n%s",
		address, filepath.Join(dir, "store"), d.shape.Bus)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.Bus, d.Direct.NATS = Launch(d.t, "nats-server", nil, "-c", config), "nats://"+address
	d.Nodes = []*Process{d.Bus}
}

// startCluster starts the three nodes of compose.yaml by the file that they have there; addresses and folders are this machine's.
func (d *Deployment) startCluster() {
	d.t.Helper()
	var clients, routes, peers []string
	for range 3 {
		peer := FreeAddress(d.t)
		clients, peers = append(clients, FreeAddress(d.t)), append(peers, peer)
		routes = append(routes, "nats://"+peer)
	}
	for i, client := range clients {
		host, port, _ := strings.Cut(client, ":")
		_, monitor, _ := strings.Cut(FreeAddress(d.t), ":")
		d.Nodes = append(d.Nodes, Launch(d.t, "nats-server", []string{fmt.Sprintf("NODE=nats-%d", i+1)},
			"-c", "../../deploy/nats.conf", "-a", host, "-p", port, "-m", monitor, "-sd", d.t.TempDir(),
			"--cluster", "nats://"+peers[i], "--routes", strings.Join(routes, ",")))
	}
	d.Bus, d.Direct.NATS = d.Nodes[0], "nats://"+strings.Join(clients, ",nats://")
}

// Open connects the test itself, by the direct way.
func (d *Deployment) Open() {
	d.t.Helper()
	store, err := jetstore.Open(d.Connect())
	if err != nil {
		d.t.Fatal(err)
	}
	d.Store, d.Client, d.JS = store, client.New(store), store.JetStream()
}

// Connect opens one more connection of the test's own, which comes back when the server does.
func (d *Deployment) Connect() *nats.Conn {
	d.t.Helper()
	var conn *nats.Conn
	Eventually(d.t, "the nats-server takes connections", func() (up bool) {
		var err error
		conn, err = nats.Connect(d.Direct.NATS, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
		return err == nil
	})
	d.t.Cleanup(conn.Close)
	return conn
}
