//go:build unix

package rig

import (
	"net/http"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Queue is the queue of every job here.
const Queue = "default"

// Shape is what is deployed. The zero value is one replica of each service on one nats-server, with quick times.
type Shape struct {
	// Replicas is how many of each service run; 0 is 1.
	Replicas int
	// Services are flags of every service, after the quick ones, over which they win.
	Services []string
	// Simulator are flags of the simulator, after the usual ones.
	Simulator []string
	// Bus is text that nats.conf ends with, such as more blocks. It is not for a cluster.
	Bus string
	// Cluster: three NATS nodes by deploy/nats.conf, and a simulator behind TLS, as compose.yaml has them.
	Cluster bool
	// Ways gives the addresses that one service is to use, where they are not the direct ones; nil: the direct ones. It is called once
	// for each replica.
	Ways func(service string, replica int, direct Ways) Ways
	// First is a service whose replicas are ready before any other starts; empty: all start at once.
	First string
	// Env is the environment of one replica in its first life only, such as an armed failpoint; nil: none.
	Env func(service string, replica int) []string
	// EnvAlways is the environment of one replica in every life; nil: none.
	EnvAlways func(service string, replica int) []string
}

// Ways are the addresses that services are given.
type Ways struct {
	NATS     string // URL, or several with commas
	Provider string // base URL without /v1
}

// Services are the four programs in the order in which a row meets them.
func Services() []string { return []string{"ingest", "submitter", "poller", "collector"} }

// Deployment is batchbus on a NATS and a provider of its own.
type Deployment struct {
	// Bus is the first of Nodes.
	Bus   *Process
	Nodes []*Process
	// Fake is the provider's process.
	Fake *Process
	// Direct are the addresses without any proxy.
	Direct Ways
	// Running are the replicas by service.
	Running map[string][]*Process
	// Client, Store and JS are the test's own, by a connection that comes back when the server does.
	Client *client.Client
	Store  *jetstore.Store
	JS     jetstream.JetStream

	t       testing.TB
	shape   Shape
	started map[string]int // replicas by service, those that are no longer in Running included
	trust   []string       // environment by which services trust the provider
	http    *http.Client
}

// Deploy starts everything and returns once all replicas are ready.
func Deploy(t testing.TB, s Shape) *Deployment {
	t.Helper()
	d := New(t, s)
	d.StartBus()
	d.Open()
	d.StartProvider()
	d.StartServices()
	return d
}

// New is a deployment of which nothing runs yet, for a test that starts its parts itself, in the order of [Deploy].
func New(t testing.TB, s Shape) *Deployment {
	t.Helper()
	s.Replicas = max(s.Replicas, 1)
	return &Deployment{t: t, shape: s, Running: map[string][]*Process{}, started: map[string]int{}, http: http.DefaultClient}
}

// At is a NATS that something else started, such as batchbus dev, with no provider and no services that the rig knows of.
func At(t testing.TB, url string) *Deployment {
	t.Helper()
	d := New(t, Shape{})
	d.Direct.NATS = url
	d.Open()
	return d
}
