package app_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

// freeAddress is a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer l.Close()
	return l.Addr().String()
}

// ask asks an admin address; status 0: nobody answers.
func ask(t *testing.T, address, path string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	ok(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ok(t, err)
	return response.StatusCode, string(body)
}

// serve runs services of a local bus, with an admin address, until stop.
func serve(t *testing.T, local *app.Local, admin string, names ...string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	o := local.Options()
	o.Services, o.Admin, o.Ready = names, admin, func() { close(ready) }
	go func() { done <- app.Run(ctx, o) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatalf("it ended before it was ready: %v", err)
	}
	return func() {
		t.Helper()
		cancel()
		ok(t, <-done)
	}
}

func TestEveryServiceStartsAndStopsAgainAndAgain(t *testing.T) {
	t.Parallel()
	local, err := app.OpenLocal(t.Context(), simulated(t.TempDir()))
	ok(t, err)
	t.Cleanup(func() { ok(t, local.Close()) })
	for _, name := range app.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			admin := freeAddress(t)
			for range 10 {
				stop := serve(t, local, admin, name)
				if status, text := ask(t, admin, "/readyz"); status != http.StatusOK {
					t.Errorf("not ready: %d %s", status, text)
				}
				stop()
				if status, _ := ask(t, admin, "/readyz"); status != 0 {
					t.Error("the admin address is open after the end")
				}
			}
		})
	}
}

// publish publishes rows of a job, each as a message.
func (r *running) publish(job, seal string, rows ...string) {
	r.t.Helper()
	store, nc := r.store()
	defer nc.Close()
	for _, text := range rows {
		m := nats.NewMsg(events.RequestSubject("default", job))
		m.Data = []byte(text)
		if seal != "" {
			m.Header.Set(events.HeaderSeal, seal)
		}
		_, err := store.Publish(r.t.Context(), m)
		ok(r.t, err)
	}
}

// await waits until a job is in a state, for a minute.
func (r *running) await(job string, state events.JobState) {
	r.t.Helper()
	bus, err := r.local.Connect("await")
	ok(r.t, err)
	defer bus.Close()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		j, err := bus.Jobs.Job(r.t.Context(), "default", job)
		if err == nil && j.State == state {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("job %s is %s: %v", job, j.State, err)
		}
	}
}

func TestTheAdminAddressShowsHealthAndMetrics(t *testing.T) {
	t.Parallel()
	admin := freeAddress(t)
	local, err := app.OpenLocal(t.Context(), simulated(t.TempDir()))
	ok(t, err)
	defer func() { ok(t, local.Close()) }()
	r := &running{t: t, local: local}

	if code, out, _ := program(t, nil, "--health", "--admin="+admin); code != 1 || !strings.HasPrefix(out, "not ready: ") || strings.Count(out, "\n") != 1 {
		t.Errorf("nobody runs: exit code %d, %q", code, out)
	}
	stop := serve(t, local, admin, app.Names()...)
	if code, out, _ := program(t, map[string]string{"BATCHBUS_ADMIN": admin}, "--health"); code != 0 || out != "ready: ok\n" {
		t.Errorf("it runs: exit code %d, %q", code, out)
	}
	if status, text := ask(t, admin, "/livez"); status != http.StatusOK || text != "ok\n" {
		t.Errorf("%d %q", status, text)
	}
	if result := r.answer("counted"); result.Outcome != events.Succeeded {
		t.Fatalf("%+v", result)
	}
	r.publish("refused", "", row("a", "hi"), `{"custom_id":"b","method":"POST","url":"/v1/chat/completions","body":{}}`, "no row")
	r.publish("refused", "true", row("a", "again"))
	r.await("refused", events.JobCompleted)
	_, text := ask(t, admin, "/metrics")
	for _, line := range []string{
		`batchbus_rows_ingested_total 4`,
		`batchbus_results_total{outcome="succeeded",service="collector"} 2`,
		`batchbus_results_total{outcome="rejected",service="submitter"} 1`,
		`batchbus_deadletters_total{code="conflict",service="submitter"} 1`,
		`batchbus_deadletters_total{code="invalid_json",service="ingest"} 1`,
		`batchbus_provider_requests_total{route="POST /batches",status="20`,
		`batchbus_messages_handled_total{answer="ack",service="ingest"} `,
		`batchbus_jobs{state="`,
		`batchbus_consumer_pending{consumer="planner"} `,
		`batchbus_bus_reconnects_total{service="poller"} 0`,
		`batchbus_build_info{`, `go_goroutines `,
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no line begins with %s", line)
		}
	}
	if strings.Contains(text, "counted") || strings.Contains(text, "simulated") {
		t.Error("a job's name or the key is in the metrics")
	}
	stop()
}

func TestAnAdminAddressThatIsTakenIsAFault(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer l.Close()
	code, _, stderr := program(t, map[string]string{app.EnvKey: "k"}, "--admin="+l.Addr().String())
	if code != app.ExitFault || !strings.Contains(stderr, "admin address") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}
