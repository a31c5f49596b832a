package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/pkg/client"
)

// headerTimeout is how long a caller may take to send a head.
const headerTimeout = 10 * time.Second

// Service is a replica of the gateway.
type Service struct {
	cfg      Config
	log      zerolog.Logger
	policies *policies
	models   *models
	peers    *peers
	clock    *clock
	hub      *hub
	results  *client.Client
	bodies   *room
	answers  *room

	calls    atomic.Int64
	draining chan struct{}
}

// New returns a gateway that takes calls once it runs.
func New(c Config) (*Service, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("configure gateway: %w", err)
	}
	return &Service{
		cfg: c, log: c.Log, policies: newPolicies(c.Policies, c.PublishTimeout), models: &models{source: c.Models}, peers: newPeers(c.Conn), clock: &clock{},
		hub: newHub(&c), results: client.New(c.Bus), bodies: newRoom(bodyRoom), answers: newRoom(answerRoom), draining: make(chan struct{}),
	}, nil
}

// Name is the gateway's name.
func (s *Service) Name() string { return "gateway" }

// Run takes calls until ctx ends. Calls that wait then are told to come again, and attach to what they have begun; the rest has
// Config.DrainTimeout. It returns nil then.
func (s *Service) Run(ctx context.Context) error {
	lifetime, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer s.hub.run(lifetime)()
	defer stop()
	silence, err := s.peers.answer()
	if err != nil {
		return errors.Join(err, s.cfg.Listener.Close())
	}
	defer silence()
	server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: headerTimeout, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(s.cfg.Listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("take calls: %w", err)
	case <-ctx.Done():
	}
	close(s.draining)
	drain, cancel := context.WithTimeout(lifetime, s.cfg.DrainTimeout)
	defer cancel()
	if server.Shutdown(drain) != nil {
		_ = server.Close() // whoever is cut off comes again and attaches
	}
	return ignoring(<-served, http.ErrServerClosed)
}

func (s *Service) routes() http.Handler {
	mux := http.NewServeMux()
	for _, url := range []string{urlChat, urlCompletions, urlEmbeddings, urlResponses, urlMessages} {
		mux.HandleFunc("POST "+url, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, url, (*exchange).run) })
	}
	mux.HandleFunc("GET "+callsPath+"{id}", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, callsPath, (*exchange).fetch) })
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, "/v1/models", (*exchange).list) })
	mux.HandleFunc("GET /v1/models/{model...}", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, "/v1/models", (*exchange).list) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, "", (*exchange).nowhere) })
	return mux
}

// serve answers one call, within the limit of open ones.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, url string, run func(x *exchange, url string) *fault) {
	x := &exchange{s: s, r: r, out: &answer{w: w, url: url, timeout: s.cfg.BodyTimeout}, unread: func() {}}
	ended := s.cfg.Metrics.begun(url)
	defer func() { ended(x.out.status) }()
	if s.calls.Add(1) > int64(s.cfg.MaxCalls) {
		s.calls.Add(-1)
		x.out.fault(&fault{
			status: http.StatusTooManyRequests, code: "too_many_calls", retryAfter: retryPause,
			message: fmt.Sprintf("the gateway holds %d open calls, its limit", s.cfg.MaxCalls),
		})
		return
	}
	defer s.calls.Add(-1)
	if f := run(x, url); f != nil {
		x.out.fault(f)
	}
}

func (x *exchange) nowhere(string) *fault {
	return &fault{
		status: http.StatusNotFound, code: "unknown_url", final: true,
		message: "there is no " + x.r.Method + " " + x.r.URL.Path + ": base_url ends in /v1, and files, batches and others are the provider's own",
	}
}

// ignoring is err unless it is the one that is expected.
func ignoring(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
