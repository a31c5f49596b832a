package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

const (
	nodes        = 3       // of a cluster
	clusterStore = 4 << 30 // bytes that the streams may reserve
)

// cluster is batchbus on three nats-servers with streams of three replicas. Nodes reach each other through gates only. The first replica
// of each service reaches node 0 only, and the provider; the second ones, and the test itself, reach nodes 1 and 2.
//
//	service 0 ──► node 0 ◄──gates──► node 1, node 2 ◄── service 1, test
type cluster struct {
	*rig.Deployment
	t     *testing.T
	ways  [nodes]string       // to each node, for clients
	gates [nodes][nodes]*gate // from, to
}

// startNodes starts the three nodes, and no service yet.
func startNodes(t *testing.T, s rig.Shape) *cluster {
	t.Helper()
	c := &cluster{t: t}
	var clients, peers [nodes]string
	for i := range nodes {
		clients[i], peers[i] = rig.FreeAddress(t), rig.FreeAddress(t)
		c.ways[i] = "nats://" + clients[i]
	}
	s.Replicas = 2
	s.Services = append(s.Services, "--replicas=3", fmt.Sprintf("--max-store=%d", clusterStore))
	provider := s.Ways
	s.Ways = func(service string, replica int, direct rig.Ways) rig.Ways {
		if provider != nil {
			direct = provider(service, replica, direct)
		}
		if replica == 0 {
			direct.NATS = c.ways[0]
		}
		return direct
	}
	c.Deployment = rig.New(t, s)
	for i := range nodes {
		for j := range nodes {
			if i != j {
				c.gates[i][j] = newGate(t, peers[j])
			}
		}
	}
	for i := range nodes {
		c.Nodes = append(c.Nodes, rig.Launch(t, "nats-server", nil, "-c", c.config(i, clients[i], peers[i])))
	}
	c.Bus, c.Direct.NATS = c.Nodes[0], c.ways[1]+","+c.ways[2]
	c.Open()
	return c
}

func deployCluster(t *testing.T, s rig.Shape) *cluster {
	t.Helper()
	c := startNodes(t, s)
	c.StartProvider()
	c.StartServices()
	return c
}

// nodeName is the server name of a node, as stream infos tell it.
func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

func (c *cluster) config(i int, client, peer string) string {
	c.t.Helper()
	var routes []string
	for j, g := range c.gates[i] {
		if j != i {
			routes = append(routes, fmt.Sprintf("%q", "nats://"+g.address))
		}
	}
	// Nodes must not learn each other's own addresses: a way around the gates would be no partition.
	text := fmt.Sprintf("server_name: %s\nlisten: %q\nmax_payload: 8MB\n"+
		"jetstream: {store_dir: %q, max_memory_store: 64MB, max_file_store: 8GB}\n"+
		"cluster: {name: chaos, listen: %q, no_advertise: true, advertise: \"127.0.0.1:1\", pool_size: -1, routes: [%s]}\n",
		nodeName(i), client, filepath.Join(c.t.TempDir(), "store"), peer, strings.Join(routes, ", "))
	name := filepath.Join(c.t.TempDir(), "nats.conf")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// cutOff parts node 0, and the replicas that are its clients, from the other two nodes; heal ends that.
func (c *cluster) cutOff() (heal func()) {
	for i := 1; i < nodes; i++ {
		c.gates[0][i].shut()
		c.gates[i][0].shut()
	}
	return func() {
		for i := 1; i < nodes; i++ {
			c.gates[0][i].reopen()
			c.gates[i][0].reopen()
		}
	}
}

// leader is the node that leads a stream, by its own word; -1 while nobody does.
func (c *cluster) leader(stream string) int {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	bound, err := c.JS.Stream(ctx, stream)
	if err != nil {
		return -1
	}
	return leaderOf(bound.CachedInfo().Cluster)
}

func leaderOf(info *jetstream.ClusterInfo) int {
	for i := range nodes {
		if info != nil && info.Leader == nodeName(i) {
			return i
		}
	}
	return -1
}

// stepDown makes the leader of a stream give way, to the preferred node if it is not negative. Whether it did is for the caller to look at.
func (c *cluster) stepDown(subject string, preferred int) {
	c.t.Helper()
	request := []byte("{}")
	if preferred >= 0 {
		request = fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, nodeName(preferred))
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
	defer cancel()
	reply, err := c.JS.Conn().RequestWithContext(ctx, subject, request)
	if err != nil {
		c.t.Logf("step down by %s: %v", subject, err)
		return
	}
	var said struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &said); err != nil || said.Error != nil {
		c.t.Logf("step down by %s: %s", subject, reply.Data)
	}
}

// lead brings a stream's leadership to a node.
func (c *cluster) lead(stream string, node int) {
	c.t.Helper()
	rig.Eventually(c.t, stream+" is led by "+nodeName(node), func() bool {
		leader := c.leader(stream)
		if leader >= 0 && leader != node {
			c.stepDown("$JS.API.STREAM.LEADER.STEPDOWN."+stream, node)
		}
		return leader == node
	})
}

// whyNotReady is what a service says at /readyz; empty when it is ready.
func (c *cluster) whyNotReady(p *rig.Process) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Admin+"/readyz", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode == http.StatusOK {
		return ""
	}
	return string(text)
}

// progress is a number that grows whenever anything is stored by any service; -1 while nobody can say.
func (c *cluster) progress() (sum int64) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	for _, stream := range []string{jetstore.StreamRows, jetstore.StreamJobs, jetstore.StreamResults} {
		bound, err := c.JS.Stream(ctx, stream)
		if err != nil {
			return -1
		}
		sum += int64(bound.CachedInfo().State.LastSeq)
	}
	return sum
}
