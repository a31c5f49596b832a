package app_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// permissionsOf are what a service needs, as a server has them, without one subject.
func permissionsOf(rights []app.Right, without string) *server.Permissions {
	p := &server.Permissions{Publish: &server.SubjectPermission{}, Subscribe: &server.SubjectPermission{}}
	for _, r := range rights {
		switch {
		case r.Subject == without:
		case r.Verb == app.Publish:
			p.Publish.Allow = append(p.Publish.Allow, r.Subject)
		default:
			p.Subscribe.Allow = append(p.Subscribe.Allow, r.Subject)
		}
	}
	return p
}

// guarded is a bus on which every service has its own user, with the rights it needs, one subject excepted.
func guarded(t *testing.T, without map[string]string) (url string) {
	t.Helper()
	users := []*server.User{{Username: "admin", Password: "p"}, {Username: "setup", Password: "p", Permissions: permissionsOf(app.SetupRights(), "")}}
	users = append(users, &server.User{Username: "looker", Password: "p", Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{events.APISubject(events.APIJobsList), events.APISubject(events.APIBatchesList)}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}})
	for _, name := range app.Names() {
		users = append(users, &server.User{Username: name, Password: "p", Permissions: permissionsOf(app.Rights(name, false), without[name])})
	}
	url = bus(t, server.Options{Users: users, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 1 << 30, MaxPayload: 8 << 20})
	return strings.TrimPrefix(url, "nats://")
}

// as is the connection of one user.
func as(user, host string, onError func(error)) *app.ConnectionFlags {
	return &app.ConnectionFlags{NATS: "nats://" + user + ":p@" + host, OnError: onError}
}

func setUp(t *testing.T, host string) {
	t.Helper()
	log := zerolog.Nop()
	ok(t, app.Setup(t.Context(), as("setup", host, nil), jetstore.Settings{KeepSizes: true}, &log))
}

// services are the options of all services, each as its own user.
func services(t *testing.T, host string, onError func(error)) app.Options {
	t.Helper()
	sim, err := simulator.New(simulator.Config{})
	ok(t, err)
	provider := httptest.NewServer(sim)
	t.Cleanup(func() { provider.Close(); _ = sim.Close() })
	return app.Options{
		Services: app.Names(), Settings: app.SimulatedSettings(), Log: zerolog.Nop(), BaseURL: provider.URL + "/v1",
		Keys:     map[string]doubleword.Secret{app.DefaultKey: doubleword.NewSecret("k")},
		Topology: jetstore.Settings{KeepSizes: true},
		Dial: func(name string) (*nats.Conn, error) {
			return as(strings.TrimPrefix(name, "batchbus-"), host, onError).Dial(name)
		},
	}
}

func TestTheRightsOfTheServicesAreEnoughForARowsWholeWay(t *testing.T) {
	t.Parallel()
	host := guarded(t, nil)
	setUp(t, host)
	var mu sync.Mutex
	var violations []error
	o := services(t, host, func(err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			mu.Lock()
			defer mu.Unlock()
			violations = append(violations, err)
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx, o) }()
	defer func() {
		stop()
		ok(t, <-done)
		mu.Lock()
		defer mu.Unlock()
		for _, v := range violations {
			t.Error(v)
		}
	}()
	nc, err := as("admin", host, nil).Dial("test")
	ok(t, err)
	defer nc.Close()
	results, err := nc.SubscribeSync("batchbus.results.>")
	ok(t, err)
	letters, err := nc.SubscribeSync("batchbus.deadletters.>")
	ok(t, err)
	ok(t, nc.Flush())
	long := strings.Repeat("x", 5<<20) // stored as an object, in and out
	rows := []string{row("a", "hi"), row("long", long), `{"custom_id":"bad"}`, row("a", "hi again"), `not a row`}
	for i, r := range rows {
		m := nats.NewMsg(events.RequestSubject("default", "guarded"))
		m.Data = []byte(r)
		if i == len(rows)-1 {
			m.Header.Set(events.HeaderSeal, "true")
		}
		ok(t, nc.PublishMsg(m))
	}
	wait, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 3 {
		_, err = results.NextMsgWithContext(wait)
		ok(t, err)
	}
	for range 2 {
		_, err = letters.NextMsgWithContext(wait)
		ok(t, err)
	}
	askAll(wait, t, nc)
	lookOnly(wait, t, host)
}

// lookOnly is somebody who may ask two endpoints of the control API, and nothing else.
func lookOnly(ctx context.Context, t *testing.T, host string) {
	t.Helper()
	refused := make(chan error, 8)
	nc, err := as("looker", host, func(err error) { refused <- err }).Dial("looker")
	ok(t, err)
	defer nc.Close()
	for _, endpoint := range []string{events.APIJobsList, events.APIBatchesList} {
		reply, err := nc.RequestWithContext(ctx, events.APISubject(endpoint), nil)
		ok(t, err)
		if code := reply.Header.Get("Nats-Service-Error-Code"); code != "" {
			t.Errorf("%s: %s", endpoint, code)
		}
	}
	for _, endpoint := range []string{
		events.APIJobsOpen, events.APIJobsCancel, events.APIJobsForget, events.APIQueuesPut, events.APIQueuesPause, events.APIBatchesAbandon,
	} {
		ok(t, nc.PublishRequest(events.APISubject(endpoint), nc.NewRespInbox(), nil))
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), events.APISubject(endpoint)) {
				t.Errorf("%s: %v", endpoint, err)
			}
		case <-ctx.Done():
			t.Errorf("%s: a looker is not refused", endpoint)
		}
	}
}

// askAll asks every endpoint of the control API, several times, so that replicas of both services answer.
func askAll(ctx context.Context, t *testing.T, nc *nats.Conn) {
	t.Helper()
	call := func(endpoint, request string) string {
		t.Helper()
		reply, err := nc.RequestWithContext(ctx, events.APISubject(endpoint), []byte(request))
		ok(t, err)
		return reply.Header.Get("Nats-Service-Error-Code")
	}
	for range 4 {
		for _, c := range [][2]string{
			{events.APIJobsOpen, `{"job":"other"}`},
			{events.APIJobsSeal, `{"job":"other"}`},
			{events.APIJobsGet, `{"job":"guarded"}`},
			{events.APIJobsList, `{}`},
			{events.APIJobsCancel, `{"job":"other"}`},
			{events.APIJobsResume, `{"job":"other"}`},
			{events.APIJobsResume, `{}`},
			{events.APIQueuesPut, `{"queue":"night","policy":{"window":"1h"}}`},
			{events.APIQueuesGet, `{"queue":"night"}`},
			{events.APIQueuesList, `{}`},
			{events.APIQueuesPause, `{"queue":"night"}`},
			{events.APIQueuesResume, `{"queue":"night"}`},
			{events.APIBatchesList, `{}`},
			{events.APIQueuesPut, `{"queue":"night","policy":{}}`},
		} {
			if code := call(c[0], c[1]); code != "" {
				t.Errorf("%s %s: %s", c[0], c[1], code)
			}
		}
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for forgotten := 0; forgotten < 4; <-tick.C { // until the job is settled, and then by several replicas
		switch code := call(events.APIJobsForget, `{"job":"guarded"}`); code {
		case "", events.APIUnknownJob:
			forgotten++
		case events.APINotSettled:
		default:
			t.Fatalf("forget: %s", code)
		}
	}
}

func row(id, text string) string {
	return `{"custom_id":"` + id + `","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"` + text + `"}]}}`
}

func TestAMissingRightIsNamedAtTheStart(t *testing.T) {
	t.Parallel()
	without := map[string]string{
		app.Ingest: "batchbus.rows.>", app.Submitter: "$JS.ACK.BATCHBUS_ROWS.planner.>",
		app.Poller: "$JS.API.CONSUMER.MSG.NEXT.BATCHBUS_TIMERS.poller", app.Collector: "batchbus.results.>",
	}
	host := guarded(t, without)
	setUp(t, host)
	for name, subject := range without {
		o := services(t, host, nil)
		o.Services = []string{name}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // in which it would run otherwise
		err := app.Run(ctx, o)
		cancel()
		missing, is := errors.AsType[*app.MissingRightsError](err)
		if !is || len(missing.Rights) != 1 || missing.Service != name || !strings.Contains(err.Error(), name+": publish to "+subject) {
			t.Errorf("%s: %v", name, err)
		}
	}
	log := zerolog.Nop()
	err := app.Setup(t.Context(), as("poller", host, nil), jetstore.Settings{}, &log)
	if !isA[*app.MissingRightsError](err) || !strings.Contains(err.Error(), "$JS.API.STREAM.CREATE.>") {
		t.Errorf("setup by a user without the rights: %v", err)
	}
}
