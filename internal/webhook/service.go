package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// Path is where webhooks are taken.
const Path = "/webhook"

const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 10 * time.Second
	stopTimeout   = time.Second
	// gather is how long hints wait for more: looking for their batches reads all states, once for all of them.
	gather = 200 * time.Millisecond
)

// Poke has the named batches polled at once. It ignores those that it does not know.
type Poke func(ctx context.Context, providerBatchIDs []string) error

// Config is what a receiver is made of. All but Log is needed.
type Config struct {
	// Listen opens the receiver's address.
	Listen func(ctx context.Context) (net.Listener, error)
	// Verifier knows the signing secret.
	Verifier *doubleword.WebhookVerifier
	// Poke is called with what webhooks hint at, by one goroutine.
	Poke Poke
	Log  zerolog.Logger
}

// Listen is for [Config.Listen]: a TCP address such as ":8090". The receiver speaks plain http; the provider wants https, which a proxy before
// it ends.
func Listen(address string) func(context.Context) (net.Listener, error) {
	return func(ctx context.Context) (net.Listener, error) {
		var config net.ListenConfig
		listener, err := config.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("open webhook address: %w", err)
		}
		return listener, nil
	}
}

// Service receives webhooks.
type Service struct {
	config Config
	mu     sync.Mutex
	hints  map[string]struct{} // batches that are to be polled
	wake   chan struct{}
}

// New returns a receiver that does nothing until [Service.Run], or what is missing.
func New(c Config) (*Service, error) {
	if c.Listen == nil || c.Verifier == nil || c.Poke == nil {
		return nil, errors.New("configure webhook receiver: listen, verifier and poke are needed")
	}
	return &Service{config: c, hints: make(map[string]struct{}), wake: make(chan struct{}, 1)}, nil
}

// Name is "webhook".
func (s *Service) Name() string { return "webhook" }

// Run receives until ctx ends, and returns nil then. An address that cannot be opened is an error.
func (s *Service) Run(ctx context.Context) error {
	listener, err := s.config.Listen(ctx)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { s.poke(ctx) })
	group.Go(func() { shutdown(ctx, server) })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve webhooks: %w", err)
	}
	return nil
}

// shutdown waits for the end of ctx, and closes the server; what is cut off comes again.
func shutdown(ctx context.Context, server *http.Server) {
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}

// Handler answers webhooks at [Path]; what they hint at is poked while Run runs.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+Path, &handler{
		verifier: s.config.Verifier, seen: newRecent(remembered), hint: s.hint,
		refused: func(reason error) { s.config.Log.Warn().Err(reason).Msg("webhook refused") },
	})
	return mux
}

// hint puts a batch among those to be polled.
func (s *Service) hint(batchID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hints) >= remembered {
		return
	}
	s.hints[batchID] = struct{}{}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// poke hands on hints until ctx ends.
func (s *Service) poke(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		if !sleep(ctx, gather) {
			return
		}
		if ids := s.take(); len(ids) > 0 {
			if err := s.config.Poke(ctx, ids); err != nil && ctx.Err() == nil {
				s.config.Log.Warn().Err(err).Int("batches", len(ids)).Msg("webhooks came to nothing: the batches are polled in their time")
			}
		}
	}
}

func (s *Service) take() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.hints {
		ids = append(ids, id)
	}
	clear(s.hints)
	return ids
}

// sleep reports whether the whole time passed.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
