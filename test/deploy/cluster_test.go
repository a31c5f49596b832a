package deploy_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// startCluster starts the three nodes of compose.yaml by the file that they have there; addresses and folders are this machine's.
func (d *deployment) startCluster() {
	d.t.Helper()
	var clients, routes, peers []string
	for range 3 {
		peer := freeAddress(d.t)
		clients, peers = append(clients, freeAddress(d.t)), append(peers, peer)
		routes = append(routes, "nats://"+peer)
	}
	for i, client := range clients {
		host, port, _ := strings.Cut(client, ":")
		_, monitor, _ := strings.Cut(freeAddress(d.t), ":")
		d.nodes = append(d.nodes, launch(d.t, "nats-server", []string{fmt.Sprintf("NODE=nats-%d", i+1)},
			"-c", "../../deploy/nats.conf", "-a", host, "-p", port, "-m", monitor, "-sd", d.t.TempDir(),
			"--cluster", "nats://"+peers[i], "--routes", strings.Join(routes, ",")))
	}
	d.bus, d.url = d.nodes[0], "nats://"+strings.Join(clients, ",nats://")
}

// startProvider starts the simulator.
func (d *deployment) startProvider(s *shape) {
	d.t.Helper()
	flags := append([]string{"--listen=127.0.0.1:0", "--data=" + d.t.TempDir(), "--seed=7", "--sweep-interval=200ms"}, s.simulator...)
	cert := filepath.Join(d.t.TempDir(), "simulator.pem")
	if s.cluster {
		flags = append(flags, "--tls-cert="+cert, "--tls-key="+filepath.Join(d.t.TempDir(), "key.pem"))
		d.trust = []string{"SSL_CERT_FILE=" + cert}
	}
	fake := launch(d.t, "simulator", nil, flags...)
	hello := regexp.MustCompile(`(https?://\S+)/v1`)
	eventually(d.t, "the simulator listens", func() bool { return hello.MatchString(fake.out.String()) })
	d.provider = hello.FindStringSubmatch(fake.out.String())[1]
	if s.cluster {
		d.http = trusting(d.t, cert)
	}
}

// trusting is a client that trusts the certificate in the file.
func trusting(t *testing.T, cert string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
}

func TestAClusterGoesOnWithoutOneOfItsNodes(t *testing.T) {
	t.Parallel()
	const rows, models = 4000, 4
	d := deploy(t, shape{replicas: 2, cluster: true, services: []string{"--replicas=3", "--max-store=10737418240"}, simulator: []string{"--rows-per-second=100"}})
	d.publish("cluster", strings.NewReader(numbered(rows, models)))
	for i, node := range d.nodes { // each in turn, so that every leader is lost once
		eventually(t, "results come", func() bool { return d.count(jetstore.StreamResults) > uint64(200*(i+1)) })
		before := d.count(jetstore.StreamResults)
		node.kill()
		eventually(t, "results come without a node", func() bool { return d.count(jetstore.StreamResults) > before })
		node.start()
	}
	d.await(events.JobDone, "cluster")
	d.wantAllSucceeded("cluster", rows)
	d.wantPaid(models, rows)
}
