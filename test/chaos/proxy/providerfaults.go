package proxy

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// ProviderFaults says how often what happens; shares are of calls, 0 to 1.
type ProviderFaults struct {
	Calls    float64       // of every route but the create's
	Creates  float64       // of POST /v1/batches
	Late     float64       // of POST /v1/batches too, before Creates: those that arrive after their client has given up
	DelayMax time.Duration // how long a call that is delayed waits at most
	// Kinds are what may happen to the share of Calls and Creates; nil: all of it but lateness.
	Kinds []string
	// LateMin and LateMax bound how long after its client has given up a create still arrives at the provider.
	LateMin, LateMax time.Duration
}

// The kinds of faults as a [Tally] counts them.
const (
	ErrorBefore = "provider: 5xx, nothing done"
	ResetBefore = "provider: reset, nothing done"
	ErrorAfter  = "provider: 5xx, and done"
	ResetAfter  = "provider: reset, and done"
	ShortBody   = "provider: body broken off"
	ShortWhole  = "provider: body short, looks whole"
	Delayed     = "provider: delayed"
	LateCreate  = "provider: create after the client's timeout"
	LateBatch   = "provider: create after the client's timeout, and a batch was made"
)

// createRoute is the paid call.
const createRoute = "POST /v1/batches"

// kinds are what can befall a call.
func (f ProviderFaults) kinds() []string {
	if f.Kinds != nil {
		return f.Kinds
	}
	return []string{ErrorBefore, ResetBefore, ErrorAfter, ResetAfter, ShortBody, ShortWhole, Delayed}
}

// faultOf draws what befalls the next call of a route; empty: nothing.
func (p *Provider) faultOf(route string) (string, *rand.Rand) {
	if !p.stormy.Load() {
		return "", nil
	}
	p.mu.Lock()
	p.calls[route]++
	n := p.calls[route]
	p.mu.Unlock()
	share := p.faults.Calls
	if route == createRoute {
		if p.dice.hit(route+" late", n, p.faults.Late) {
			return LateCreate, p.dice.At(route+" how late", n)
		}
		share = p.faults.Creates
	}
	if !p.dice.hit(route, n, share) {
		return "", nil
	}
	r := p.dice.At(route+" kind", n)
	all := p.faults.kinds()
	return all[r.IntN(len(all))], r
}

// act carries a call out under a fault.
func (p *Provider) act(w http.ResponseWriter, x exchange, fault string, r *rand.Rand) {
	switch fault {
	case ErrorBefore:
		http.Error(w, "the proxy answers for the provider", serverError(r))
		return
	case ResetBefore:
		reset(w)
		return
	case LateCreate:
		p.arriveLate(w, x, upTo(r, p.faults.LateMax-p.faults.LateMin)+p.faults.LateMin)
		return
	case Delayed:
		if !p.wait(x.Context(), upTo(r, p.faults.DelayMax)) {
			return
		}
	}
	a, err := p.forward(x.Context(), x)
	if err != nil {
		http.Error(w, "the provider does not answer", http.StatusBadGateway)
		return
	}
	switch fault {
	case ErrorAfter:
		http.Error(w, "the proxy answers for the provider", serverError(r))
	case ResetAfter:
		reset(w)
	case ShortBody, ShortWhole:
		a.pass(w, r.IntN(len(a.body)+1), fault == ShortBody)
	default:
		a.pass(w, len(a.body), a.broken)
	}
}

func serverError(r *rand.Rand) int {
	all := []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	return all[r.IntN(len(all))]
}

// arriveLate holds a request back until its client has given up, and then for the given time, and hands it on: nobody hears the answer.
func (p *Provider) arriveLate(w http.ResponseWriter, x exchange, after time.Duration) {
	p.late.Go(func() {
		select {
		case <-x.Context().Done():
		case <-p.done:
			return
		}
		if !p.wait(context.Background(), after) {
			return
		}
		if a, err := p.forward(context.Background(), x); err == nil && a.status == http.StatusCreated {
			p.tally.Add(LateBatch)
		}
	})
	select {
	case <-x.Context().Done():
	case <-p.done:
	}
	reset(w)
}
