package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Provider is a proxy before a provider, as an http.Handler. It holds one request and one answer of each call in memory. It is safe for
// concurrent use.
type Provider struct {
	target string // base URL without a path
	faults ProviderFaults
	dice   Dice
	tally  *Tally
	client http.Client
	stormy atomic.Bool
	done   chan struct{}
	late   sync.WaitGroup

	mu    sync.Mutex
	calls map[string]int64 // by route
}

// NewProvider makes a proxy before the base URL target, such as http://127.0.0.1:8090, which stands without a path.
func NewProvider(target string, faults ProviderFaults, dice Dice, tally *Tally) *Provider {
	return &Provider{
		target: target, faults: faults, dice: dice, tally: tally, done: make(chan struct{}), calls: map[string]int64{},
		client: http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}},
	}
}

// Storm begins the faults; before it the weather is fair, and nothing is counted.
func (p *Provider) Storm() { p.stormy.Store(true) }

// Calm ends all faults. Creates that are held back already still arrive late: see [Provider.Settle].
func (p *Provider) Calm() { p.stormy.Store(false) }

// Settle waits until no create is held back any more.
func (p *Provider) Settle() { p.late.Wait() }

// Close lets go of creates that are held back, without handing them on, and waits for it.
func (p *Provider) Close() {
	close(p.done)
	p.late.Wait()
	p.client.CloseIdleConnections()
}

// exchange is one call on its way.
type exchange struct {
	*http.Request
	body  []byte
	route string
}

// ServeHTTP hands a call on, with whatever befalls it.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone before its request was whole
	}
	x := exchange{Request: r, body: body, route: routeOf(r)}
	fault, dice := p.faultOf(x.route)
	if fault != "" {
		p.tally.Add(fault)
	}
	p.act(w, x, fault, dice) //nolint:contextcheck // a late create outlives its client on purpose
}

// routeOf is the method and the path with ids replaced.
func routeOf(r *http.Request) string {
	words := strings.Split(r.URL.Path, "/")
	for i, word := range words {
		if len(word) == 36 && strings.Count(word, "-") == 4 {
			words[i] = "{id}"
		}
	}
	return r.Method + " " + strings.Join(words, "/")
}

// answer is a whole answer of the provider.
type answer struct {
	status int
	header http.Header
	body   []byte
	broken bool // it broke off here, as it came
}

// forward makes the call and reads all of its answer.
func (p *Provider) forward(ctx context.Context, x exchange) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, x.Method, p.target+x.URL.RequestURI(), bytes.NewReader(x.body))
	if err != nil {
		return answer{}, fmt.Errorf("build request: %w", err)
	}
	request.Header = x.Header.Clone()
	reply, err := p.client.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("ask provider: %w", err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	return answer{reply.StatusCode, reply.Header, body, err != nil}, nil
}

// pass writes the first bytes of an answer's body; broken cuts the connection behind them, else the answer looks whole.
func (a answer) pass(w http.ResponseWriter, size int, broken bool) {
	for name, values := range a.header {
		if name != "Content-Length" || broken {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body[:size]) // the client has gone when this fails
	if broken {
		breakOff(w)
	}
}

// breakOff ends the connection behind what was written.
func breakOff(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // what was written shall arrive
	panic(http.ErrAbortHandler)
}

// reset drops the connection without a word, as a process does that dies with unread bytes.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // an error says that the client has gone
	}
	_ = conn.Close()
}

// wait waits, unless ctx ends or the proxy is closed before.
func (p *Provider) wait(ctx context.Context, d time.Duration) (whole bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-p.done:
	}
	return false
}
