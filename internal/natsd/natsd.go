package natsd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// MaxPayload is the largest message, headers included, that an embedded server takes: 8 MiB. Above it nats-server itself
// warns; a provider's row of 10 MiB and longer answers travel as objects.
const MaxPayload = 8 << 20

// pollInterval is how often Start looks whether the server is ready.
const pollInterval = 10 * time.Millisecond

// ErrInUse is returned when another server, in this process or another, holds the directory.
var ErrInUse = errors.New("store directory is in use by another server")

// ErrKey is returned when the directory was written with another key file, or with one when none was given. Nothing in
// the directory was changed.
var ErrKey = errors.New("key file does not fit the store")

// Options says where the server keeps its data and who can reach it.
type Options struct {
	// Dir is the store directory; it is made, with mode 0700, when it is missing. Required.
	Dir string
	// Listen is host:port for clients outside the process; port 0 picks a free one. Empty: no socket is opened and only
	// [Server.Connect] reaches the server.
	Listen string
	// MaxStore is the most bytes that all streams together may reserve. 0: four fifths of what the disk has free for Dir,
	// what Dir already holds counted as free. The last fifth is for everybody else on the disk: a full disk stops
	// JetStream as a whole, a full stream only its publishers.
	MaxStore int64
	// KeyFile names a file whose content, without the line end, encrypts the store (AES). At least 16 bytes. A plain
	// store is encrypted when it is first started with a key; the way back does not exist.
	KeyFile string
	// SyncAlways flushes every write to the disk before it is acknowledged: no acknowledged message is lost by power loss,
	// at about a tenth of the speed except in atomic publishes.
	SyncAlways bool
	// LogTo gets the server's warnings and errors, one line each without an end; it is called from several goroutines.
	// Nil: they are dropped.
	LogTo func(line string)
}

// Server is a running embedded server. It is safe for concurrent use.
type Server struct {
	srv      *server.Server
	maxStore int64
	lock     *os.File
	stop     sync.Once
}

// Start starts a server and waits until it takes connections and JetStream has recovered its streams, or ctx ends. On an
// error nothing runs and the directory is released.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("start server: no store directory")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make store directory: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, o)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.lock = lock
	return s, nil
}

func start(ctx context.Context, o Options) (*Server, error) {
	opts, err := serverOptions(o)
	if err != nil {
		return nil, err
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("configure server: %w", err)
	}
	log := &logger{to: o.LogTo}
	srv.SetLoggerV2(log, false, false, false)
	go srv.Start()
	if err := ready(ctx, srv, log); err != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, err
	}
	return &Server{srv: srv, maxStore: opts.JetStreamMaxStore}, nil
}

// ready waits for the server. What it could not do (an address in use, a store it cannot write) it says through Fatalf only.
func ready(ctx context.Context, srv *server.Server, log *logger) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if line := log.fatal(); line != "" {
			return fmt.Errorf("start server: %s", line)
		}
		if srv.JetStreamEnabled() && srv.ReadyForConnections(time.Millisecond) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("start server: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// Connect opens a connection inside the process: no socket, no TLS. It does not block beyond the handshake; close it
// before [Server.Shutdown].
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	nc, err := nats.Connect("", append([]nats.Option{nats.InProcessServer(s)}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("connect in process: %w", err)
	}
	return nc, nil
}

// ClientURL is the address for clients outside the process; it is empty when the server does not listen.
func (s *Server) ClientURL() string {
	if s.srv.Addr() == nil {
		return ""
	}
	return s.srv.ClientURL()
}

// MaxStore is the most bytes that all streams together may reserve.
func (s *Server) MaxStore() int64 { return s.maxStore }

// Shutdown stops the server, waits until its files are written and releases the directory. A second call does nothing.
func (s *Server) Shutdown() {
	s.stop.Do(func() {
		s.srv.Shutdown()
		s.srv.WaitForShutdown()
		_ = s.lock.Close() // closing releases the lock; there is nothing left to do about a failure
	})
}

// InProcessConn dials inside the process; it makes the server usable as nats.InProcessServer's argument.
func (s *Server) InProcessConn() (net.Conn, error) {
	conn, err := s.srv.InProcessConn()
	if err != nil {
		return nil, fmt.Errorf("connect in process: %w", err)
	}
	return conn, nil
}
