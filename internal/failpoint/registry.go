package failpoint

import (
	"net/http"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Registry hears of every passage of the services that it was given to. A nil registry is one that nobody listens to. It is safe for concurrent
// use when its listener is.
type Registry struct{ pass func(Passage) }

// NewRegistry returns a registry that tells pass. pass is called in the middle of the service's work and holds it up until it returns.
func NewRegistry(pass func(Passage)) *Registry { return &Registry{pass: pass} }

// Probe is what a service's [jetstore.Store] is probed with; nil when nobody listens.
func (r *Registry) Probe(service string) jetstore.Probe {
	if r == nil {
		return nil
	}
	return func(e jetstore.Effect) (after func()) {
		return r.around(ofEffect(service, e))
	}
}

// Transport is base, telling of each call of the provider: before it is sent, and after the head of its answer or its failure has come.
func (r *Registry) Transport(service string, base http.RoundTripper) http.RoundTripper {
	if r == nil {
		return base
	}
	return transport(func(request *http.Request) (*http.Response, error) {
		defer r.around(ofRequest(service, request))()
		return base.RoundTrip(request)
	})
}

func (r *Registry) around(p Point) (after func()) {
	r.pass(Passage{p, Before})
	return func() { r.pass(Passage{p, After}) }
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip makes the call.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
