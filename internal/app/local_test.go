package app_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func simulated(dir string) app.LocalOptions {
	return app.LocalOptions{Dir: dir, MaxStore: 1 << 30, Simulate: true, Settings: app.SimulatedSettings(), Log: zerolog.Nop()}
}

// running is a local bus with its services.
type running struct {
	t     *testing.T
	local *app.Local
	stop  context.CancelFunc
	done  chan error
}

// open starts everything and returns when it is ready.
func open(t *testing.T, dir string) *running {
	t.Helper()
	local, err := app.OpenLocal(t.Context(), simulated(dir))
	ok(t, err)
	ctx, stop := context.WithCancel(t.Context())
	r := &running{t: t, local: local, stop: stop, done: make(chan error, 1)}
	ready := make(chan struct{})
	o := local.Options()
	o.Ready = func() { close(ready) }
	go func() { r.done <- app.Run(ctx, o) }()
	select {
	case <-ready:
	case err := <-r.done:
		t.Fatalf("it ended before it was ready: %v", err)
	}
	return r
}

func (r *running) close() {
	r.t.Helper()
	r.stop()
	ok(r.t, <-r.done)
	ok(r.t, r.local.Close())
}

// store opens a connection of the test's own.
func (r *running) store() (*jetstore.Store, *nats.Conn) {
	r.t.Helper()
	nc, err := r.local.Options().Dial("test")
	ok(r.t, err)
	store, err := jetstore.Open(nc)
	ok(r.t, err)
	return store, nc
}

func (r *running) busID() string {
	r.t.Helper()
	store, nc := r.store()
	defer nc.Close()
	id, err := store.BusID(r.t.Context())
	ok(r.t, err)
	return id
}

// answer publishes one row as a job and waits for its result.
func (r *running) answer(job string) events.Result {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	store, nc := r.store()
	defer nc.Close()
	results, err := nc.SubscribeSync(events.ResultSubject("default", job, "a"))
	ok(r.t, err)
	request := nats.NewMsg(events.RequestSubject("default", job))
	request.Header.Set(events.HeaderSeal, "true")
	request.Data = []byte(`{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"hi"}]}}`)
	_, err = store.Publish(ctx, request)
	ok(r.t, err)
	message, err := results.NextMsgWithContext(ctx)
	ok(r.t, err)
	result, err := events.ParseResult(message.Data)
	ok(r.t, err)
	return result
}

func TestALocalBusAnswersAndStartsAgainWhereItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var ids []string
	for _, job := range []string{"first", "second"} {
		r := open(t, dir)
		ids = append(ids, r.busID())
		if result := r.answer(job); result.Outcome != events.Succeeded || result.Job != job {
			t.Errorf("%+v", result)
		}
		r.close()
	}
	if ids[0] == "" || ids[0] != ids[1] {
		t.Errorf("bus ids %q", ids)
	}
	again := open(t, dir)
	defer again.close()
	bus, err := again.local.Connect("test")
	ok(t, err)
	defer bus.Close()
	for _, job := range []string{"first", "second"} {
		if _, err := bus.Jobs.Job(t.Context(), "default", job); err != nil {
			t.Error(err)
		}
	}
}

func TestALocalBusIsOneProcessAndOneProvider(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	local, err := app.OpenLocal(t.Context(), simulated(dir))
	ok(t, err)
	if _, err := app.OpenLocal(t.Context(), simulated(dir)); !isA[*app.DirBusyError](err) {
		t.Errorf("a second process gets %v", err)
	}
	ok(t, local.Close())
	paid := simulated(dir)
	paid.Simulate, paid.BaseURL = false, doubleword.DefaultBaseURL
	if _, err := app.OpenLocal(t.Context(), paid); !isA[*app.DirProviderError](err) {
		t.Errorf("another provider gets %v", err)
	}
}

func isA[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

func TestADirectoryIsNotGivenToAProviderThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	o := simulated(dir)
	o.Simulate, o.BaseURL = false, "http://example.com/v1"
	if _, err := app.OpenLocal(t.Context(), o); !errors.Is(err, doubleword.ErrInsecureURL) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
	local, err := app.OpenLocal(t.Context(), simulated(dir))
	ok(t, err)
	ok(t, local.Close())
}

func TestRunChecksTheBusUnlessItIsToSetItUp(t *testing.T) {
	t.Parallel()
	local, err := app.OpenLocal(t.Context(), simulated(t.TempDir()))
	ok(t, err)
	defer local.Close()
	o := local.Options()
	o.Setup = false
	o.Ready = func() { t.Error("it is ready on a bus without streams") }
	if err := app.Run(t.Context(), o); err == nil {
		t.Error("it ran")
	}
}
