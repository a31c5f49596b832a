//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// dev is batchbus dev, running.
type dev struct {
	*process
	url string // of its bus
	dir string
}

// startDev starts it on a free port and returns once it takes clients.
func startDev(t *testing.T, flags ...string) *dev {
	t.Helper()
	return startDevIn(t, nil, flags...)
}

func startDevIn(t *testing.T, env []string, flags ...string) *dev {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	d := &dev{url: "nats://" + address, dir: t.TempDir()}
	d.process = start(t, d.dir, env, append([]string{"dev", "--listen", address}, flags...)...)
	t.Cleanup(func() { d.stop() })
	waitUntil(t, d.process, "dev takes clients", func() bool {
		nc, err := nats.Connect(d.url)
		if err != nil {
			return false
		}
		defer nc.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = nc.RequestWithContext(ctx, "$SRV.PING.batchbus", nil)
		return err == nil
	})
	return d
}

// do runs a command against the bus.
func (d *dev) do(t *testing.T, args ...string) outcome {
	t.Helper()
	return batchbus(t, d.dir, nil, append(args, "--nats", d.url)...)
}

func decode[T any](t *testing.T, o outcome) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), &v); err != nil {
		t.Fatalf("stdout is no JSON: %v\n%s\n%s", err, o.stdout, o.stderr)
	}
	return v
}

// jobStatus is what status --json prints.
type jobStatus struct {
	Job         string `json:"job"`
	State       string `json:"state"`
	InputSHA256 string `json:"input_sha256"`
	ForgottenAt string `json:"forgotten_at"`
	Totals      struct {
		Rows      int `json:"rows"`
		Succeeded int `json:"succeeded"`
	} `json:"totals"`
	Batches []struct {
		State           string `json:"state"`
		ProviderBatchID string `json:"provider_batch_id"`
	} `json:"batches"`
}

// publish publishes as nats pub -J does: it waits for the stream's acknowledgement.
func (d *dev) publish(t *testing.T, subject, payload string, headers ...string) {
	t.Helper()
	nc := d.connect(t)
	m := nats.NewMsg(subject)
	m.Data = []byte(payload)
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ack, err := nc.RequestMsgWithContext(ctx, m)
	if err != nil || !strings.Contains(string(ack.Data), `"stream":"BATCHBUS_REQUESTS"`) {
		t.Fatalf("%s: %v", subject, err)
	}
}

func (d *dev) connect(t *testing.T) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(d.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}
