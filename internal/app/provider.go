package app

import (
	"fmt"

	"github.com/batchbus/batchbus/internal/obs"
	"github.com/batchbus/batchbus/pkg/doubleword"
)

// clients are the provider's clients by key name.
type clients map[string]*doubleword.Client

// newClients makes the clients of one service; their calls are counted, and share the process' budget.
func newClients(o *Options, m *obs.Metrics, budget *doubleword.Budget, service string) (clients, error) {
	made := make(clients, len(o.Keys))
	for name, key := range o.Keys {
		transport := o.Transport
		if transport == nil {
			transport = doubleword.NewTransport()
		}
		client, err := doubleword.New(doubleword.Config{
			BaseURL: o.BaseURL, Key: key, CreateTimeout: o.Settings.CreateTimeout,
			Transport: o.Failpoints.Transport(service, m.Transport(transport)), Budget: budget,
		})
		if err != nil {
			return nil, fmt.Errorf("make client for key %q: %w", name, err)
		}
		made[name] = client
	}
	return made, nil
}

func (c clients) names() []string {
	names := make([]string, 0, len(c))
	for name := range c {
		names = append(names, name)
	}
	return names
}

// providers narrows the clients to what one service needs of them.
func providers[P any](c clients, narrow func(*doubleword.Client) P) func(key string) (P, bool) {
	return func(key string) (P, bool) {
		client, ok := c[key]
		if !ok {
			var none P
			return none, false
		}
		return narrow(client), true
	}
}
