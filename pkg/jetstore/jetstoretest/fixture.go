package jetstoretest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/natsd" //nolint:depguard // a test package: the only part of pkg that runs a server
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// storeSize is the space of a test's server: files are sparse, so it costs what a test writes.
const storeSize = 4 << 30

// Fixture is a server with the topology set up, a connection and a store on it.
type Fixture struct {
	Server *natsd.Server
	Conn   *nats.Conn
	Store  *jetstore.Store
}

// Start starts a server on a temporary directory, without a socket, and sets up the topology. It ends with the test. It fails
// the test when it cannot.
func Start(tb testing.TB) *Fixture {
	tb.Helper()
	f := start(tb, tb.TempDir())
	tb.Cleanup(f.stop)
	return f
}

func start(tb testing.TB, dir string) *Fixture {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := natsd.Start(ctx, natsd.Options{Dir: dir, MaxStore: storeSize})
	if err != nil {
		tb.Fatal(err)
	}
	f := &Fixture{Server: server}
	if f.Conn, err = server.Connect(); err != nil {
		server.Shutdown()
		tb.Fatal(err)
	}
	if f.Store, err = jetstore.Open(f.Conn); err == nil {
		err = jetstore.Setup(ctx, f.Store.JetStream(), jetstore.Settings{MaxStore: storeSize})
	}
	if err != nil {
		f.stop()
		tb.Fatal(err)
	}
	return f
}

func (f *Fixture) stop() {
	f.Conn.Close()
	f.Server.Shutdown()
}

// Bubble runs test in a synctest bubble with a fixture of its own. The fixture is stopped when test returns, inside the
// bubble; goroutines that test started must end before. Connections that test opens itself it must close itself.
func Bubble(t *testing.T, test func(t *testing.T, f *Fixture)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		f := start(t, dir)
		defer f.stop()
		test(t, f)
	})
}

// Main runs a package's tests with what bubbles need held from outside of them; it returns the exit code:
//
//	func TestMain(m *testing.M) { os.Exit(jetstoretest.Main(m)) }
//
// With goleak, run this in its place: goleak.VerifyTestMain(jetstoretest.Held{M: m}).
func Main(m interface{ Run() int }) int {
	defer natsd.HoldClock()()
	return m.Run()
}

// Held is a *testing.M for goleak.VerifyTestMain, which runs the tests by [Main].
type Held struct {
	M interface{ Run() int }
}

// Run runs the tests and returns the exit code.
func (h Held) Run() int { return Main(h.M) }
