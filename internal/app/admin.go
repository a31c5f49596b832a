package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

const (
	adminHeaderTimeout = 5 * time.Second
	adminWriteTimeout  = 30 * time.Second
	adminStopTimeout   = time.Second
)

// adminServer serves health and metrics. The nil one serves nothing.
type adminServer struct {
	server *http.Server
	served chan struct{}
}

// serve opens the admin address; empty: none.
func (m *monitor) serve(ctx context.Context, address string) (*adminServer, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // the nil server serves nothing
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("open admin address: %w", err)
	}
	a := &adminServer{
		server: &http.Server{Handler: m.handler(), ReadHeaderTimeout: adminHeaderTimeout, WriteTimeout: adminWriteTimeout},
		served: make(chan struct{}),
	}
	go func() {
		defer close(a.served)
		_ = a.server.Serve(listener) // always ErrServerClosed: close ends it
	}()
	return a, nil
}

// close answers what is being asked, for a second, and closes the address. It goes on beyond the end of ctx.
func (a *adminServer) close(ctx context.Context) {
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminStopTimeout)
	defer cancel()
	if a.server.Shutdown(ctx) != nil {
		_ = a.server.Close() // there is nobody left to tell
	}
	<-a.served
}

func (m *monitor) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", answer(m.health.Live))
	mux.HandleFunc("GET /readyz", answer(m.health.Ready))
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// answer is 200 and "ok", or 503 and why not, one line a fault.
func answer(fault func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := fault(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

// isDrift tells a bus whose topology differs from one that could not be asked.
func isDrift(err error) bool {
	var drift *jetstore.DriftError
	return errors.As(err, &drift)
}
