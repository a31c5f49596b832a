package gateway_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/gateway"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) { jetstoretest.Verify(m) }

// rig is a bus with gateways; the test is the rest of batchbus.
type rig struct {
	t *testing.T
	*jetstoretest.Fixture
	http *http.Client
	seen uint64 // requests that were taken
}

func newRig(t *testing.T) *rig {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &rig{t: t, Fixture: jetstoretest.Start(t), http: &http.Client{Transport: transport}}
}

// replica runs a gateway and returns its base URL and how to stop it, which the test's end does otherwise.
func (r *rig) replica(change func(*gateway.Config)) (url string, stop func()) {
	r.t.Helper()
	conn, err := r.Server.Connect()
	if err != nil {
		r.t.Fatal(err)
	}
	store, err := jetstore.Open(conn)
	if err != nil {
		r.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	c := gateway.Config{Bus: store, Conn: conn, Policies: queues.New(store, 0), BusID: "bus", Listener: listener, DrainTimeout: time.Second}
	if change != nil {
		change(&c)
	}
	s, err := gateway.New(c)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
		conn.Close()
	}
	r.t.Cleanup(stop)
	return "http://" + listener.Addr().String(), stop
}

// reply is what a call came to.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

// call calls, and returns where the reply will be. Headers are pairs.
func (r *rig) call(ctx context.Context, url, body string, headers ...string) <-chan reply {
	r.t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer sk-one")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	out := make(chan reply, 1)
	go func() {
		got, err := r.http.Do(request)
		if err != nil {
			out <- reply{err: err}
			return
		}
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		out <- reply{got.StatusCode, got.Header, string(text), err}
	}()
	return out
}

// now calls and waits for the reply.
func (r *rig) now(url, body string, headers ...string) reply {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	return <-r.call(ctx, url, body, headers...)
}

// taken is the next row that a gateway has published.
func (r *rig) taken() *nats.Msg {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	for {
		m, err := r.Store.Next(ctx, jetstore.StreamRequests, "batchbus.requests.>", r.seen+1)
		if err == nil {
			r.seen = m.Sequence
			return &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}
		}
		pause(r.t, ctx)
	}
}

func pause(t *testing.T, ctx context.Context) {
	t.Helper()
	tick := time.NewTimer(10 * time.Millisecond)
	defer tick.Stop()
	select {
	case <-tick.C:
	case <-ctx.Done():
		t.Fatal("nothing came")
	}
}

// nothing checks that no further row was published.
func (r *rig) nothing() {
	r.t.Helper()
	if m, err := r.Store.Next(r.t.Context(), jetstore.StreamRequests, "batchbus.requests.>", r.seen+1); err == nil {
		r.t.Errorf("there is one more row: %s", m.Data)
	}
}

// idOf is the custom_id of a row.
func idOf(t *testing.T, m *nats.Msg) string {
	t.Helper()
	rest, ok := bytes.CutPrefix(m.Data, []byte(`{"custom_id":"`))
	id, _, cut := bytes.Cut(rest, []byte{'"'})
	if !ok || !cut {
		t.Fatalf("no row: %s", m.Data)
	}
	return string(id)
}

// end publishes the row's result as the collector does.
func (r *rig) end(m *nats.Msg, change func(*events.Result)) {
	r.t.Helper()
	result := events.Result{
		CustomID: idOf(r.t, m), Queue: strings.TrimPrefix(m.Subject, events.PrefixRequests), Job: m.Header.Get(events.HeaderJob),
		Outcome: events.Succeeded, StatusCode: http.StatusOK, Response: []byte(`{"id":"x","choices":[]}`), CompletedAt: time.Now(),
	}
	if change != nil {
		change(&result)
	}
	out, err := r.Store.Fit(r.t.Context(), jetstore.StreamResults, messages.Result(&result, block.Hash{}), messages.ResultEnvelope(&result))
	if err == nil {
		_, err = r.Store.PublishOnce(r.t.Context(), out)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// dead publishes the row's dead letter as the planner does.
func (r *rig) dead(m *nats.Msg, code string) {
	r.t.Helper()
	source := messages.Source(block.Hash(rowHash(m.Data)), 1, m.Header.Get(nats.MsgIdHdr))
	letter := events.DeadLetter{
		Code: code, Message: "refused by the test", CustomID: idOf(r.t, m), Queue: "default", Job: m.Header.Get(events.HeaderJob), Source: source.String(), At: time.Now(),
	}
	if _, err := r.Store.PublishOnce(r.t.Context(), messages.DeadLetter(&letter)); err != nil {
		r.t.Fatal(err)
	}
}

const chat = `{"model":"m","messages":[{"role":"user","content":"Hello"}]}`
