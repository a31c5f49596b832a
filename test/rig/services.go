//go:build unix

package rig

import (
	"net/http"
	"slices"
	"testing"
)

// APIKey is the API key that services have.
const APIKey = "deployed"

// quick are times that suit a provider without hours to wait for.
func quick() []string {
	return []string{
		"--ack-wait=5s", "--create-timeout=5s", "--quiet-period=1s", "--poll-floor=1s", "--poll-ceiling=2s", "--missing-grace=1s",
		"--cancel-grace=1s", "--sweep-interval=2s",
	}
}

// StartServices starts every replica and returns once all are ready. One whose first life has ended before, by an armed failpoint, is started
// again, without its [Shape.Env].
func (d *Deployment) StartServices() {
	d.t.Helper()
	order := [][]string{Services()}
	if d.shape.First != "" {
		others := slices.DeleteFunc(Services(), func(name string) bool { return name == d.shape.First })
		order = [][]string{{d.shape.First}, others}
	}
	for _, names := range order {
		started := map[string]*Process{}
		for _, name := range names {
			for range d.shape.Replicas {
				admin, p := d.add(name)
				started[admin] = p
			}
		}
		for admin, p := range started {
			d.awaitReady(p, admin)
		}
	}
}

// Add starts one more replica of a service and returns once it is ready, as StartServices does.
func (d *Deployment) Add(name string) *Process {
	d.t.Helper()
	admin, p := d.add(name)
	d.awaitReady(p, admin)
	return p
}

func (d *Deployment) add(name string) (admin string, p *Process) {
	d.t.Helper()
	admin = FreeAddress(d.t)
	p = d.serve(name, d.started[name], admin)
	d.started[name]++
	d.Running[name] = append(d.Running[name], p)
	return admin, p
}

func (d *Deployment) awaitReady(p *Process, admin string) {
	d.t.Helper()
	Eventually(d.t, "every replica is ready", func() bool {
		if !p.Ended() {
			return Ready(d.t, admin)
		}
		if end := p.End(); !end.KilledItself() {
			d.t.Fatalf("%s has %s", p.Name, end)
		}
		p.Start()
		return false
	})
}

// serve starts one replica.
func (d *Deployment) serve(name string, replica int, admin string) *Process {
	d.t.Helper()
	ways := d.Direct
	if d.shape.Ways != nil {
		ways = d.shape.Ways(name, replica, d.Direct)
	}
	flags := []string{"--nats=" + ways.NATS, "--admin=" + admin, "--log-level=warn", "--provider-url=" + ways.Provider + "/v1"}
	env := append([]string{"DOUBLEWORD_API_KEY=" + APIKey}, d.trust...)
	if d.shape.EnvAlways != nil {
		env = append(env, d.shape.EnvAlways(name, replica)...)
	}
	var first []string
	if d.shape.Env != nil {
		first = d.shape.Env(name, replica)
	}
	if name == Gateway {
		listen := FreeAddress(d.t)
		p := launch(d.t, "batchbus", env, first, slices.Concat([]string{"gateway", "--listen=" + listen}, flags)...)
		p.Admin, p.URL = admin, "http://"+listen+"/v1"
		return p
	}
	p := launch(d.t, name, env, first, slices.Concat(flags, []string{"--setup"}, quick(), d.shape.Services)...)
	p.Admin = admin
	return p
}

// Gateway is a service that only [Deployment.Add] starts.
const Gateway = "gateway"

// KillAndRestart ends the first replica of a service in the middle of what it does and starts it again.
func (d *Deployment) KillAndRestart(name string) {
	d.t.Helper()
	p := d.Running[name][0]
	p.Kill()
	p.Start()
}

// WantQuietEnd asks every replica to end, and checks that none had ended before.
func (d *Deployment) WantQuietEnd() {
	d.t.Helper()
	for name, replicas := range d.Running {
		for _, p := range replicas {
			if p.Ended() {
				d.t.Errorf("%s has %s", name, p.End())
				continue
			}
			if code := p.Stop(); code != 143 {
				d.t.Errorf("%s ends with %d after SIGTERM, want 143", name, code)
			}
		}
	}
}

// Ready tells whether a service says that it is ready.
func Ready(t testing.TB, admin string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer reply.Body.Close()
	return reply.StatusCode == http.StatusOK
}
