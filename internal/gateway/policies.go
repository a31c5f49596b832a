package gateway

import (
	"context"
	"time"

	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// policies remembers the policies of queues for some seconds: they judge calls before ingest does, by what is in force then.
type policies struct {
	source  Policies
	timeout time.Duration // how long a reading may take, waiting for others' included
	mutex   chan struct{} // held while a policy is read, so that a thousand calls ask once
	known   map[string]*knownPolicy
}

// knownPolicy is a policy and what it means for rows.
type knownPolicy struct {
	events.Policy
	rules *rows.Rules
	until time.Time
}

// policyTTL is how late a change of a policy may reach the gateway's own judgement.
const policyTTL = 5 * time.Second

func newPolicies(source Policies, timeout time.Duration) *policies {
	return &policies{source: source, timeout: timeout, mutex: make(chan struct{}, 1), known: make(map[string]*knownPolicy)}
}

func (p *policies) of(ctx context.Context, queue string) (*knownPolicy, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	select {
	case p.mutex <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.mutex }()
	if known, ok := p.known[queue]; ok && time.Now().Before(known.until) {
		return known, nil
	}
	policy, err := p.source.Policy(ctx, queue)
	if err != nil {
		return nil, err
	}
	rules, err := queues.Rules(&policy)
	if err != nil {
		return nil, err
	}
	p.known[queue] = &knownPolicy{policy, rules, time.Now().Add(policyTTL)}
	return p.known[queue], nil
}
