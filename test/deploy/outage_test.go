package deploy_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

// outageVariable sets how long NATS stays dead, such as 2m; the default keeps the gate short.
const outageVariable = "BATCHBUS_DEPLOY_OUTAGE"

func outage(t *testing.T) time.Duration {
	t.Helper()
	text, set := os.LookupEnv(outageVariable)
	if !set {
		return 20 * time.Second
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", outageVariable, err)
	}
	return length
}

// oneMoreIngest starts a replica that the test can ask, and returns its admin address.
func oneMoreIngest(t *testing.T, d *rig.Deployment) string {
	t.Helper()
	admin := rig.FreeAddress(t)
	rig.Launch(t, "ingest", nil, "--nats="+d.Direct.NATS, "--admin="+admin, "--setup", "--ack-wait=5s", "--log-level=warn")
	return admin
}

// readiness is what /readyz says; empty while nobody answers.
func readiness(t *testing.T, admin string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func TestADeadNATSInTheMiddleLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	const rows, models, later = 5000, 5, 2000
	d := rig.Deploy(t, rig.Shape{Replicas: 2, Simulator: []string{"--rows-per-second=200"}})
	d.Publish("running", strings.NewReader(rig.Numbered(rows, models)))
	rig.Eventually(t, "results come", func() bool { return d.Count(jetstore.StreamResults) > 100 })
	there := oneMoreIngest(t, d)
	rig.Eventually(t, "one more ingest is ready", func() bool { return readiness(t, there) == "ok" })
	d.Bus.Kill()
	if d.Count(jetstore.StreamResults) != 0 {
		t.Fatal("NATS still answers")
	}
	published := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), outage(t)+rig.Patience)
	defer cancel()
	go func() { published <- d.TryPublish(ctx, "knocking", strings.NewReader(rig.Numbered(later, 1))) }()

	late := oneMoreIngest(t, d) // starts while there is no bus
	rig.Eventually(t, "readiness says that the bus is lost, or waited for", func() bool {
		return strings.Contains(readiness(t, there), "the connection of ingest to the bus is lost") &&
			strings.Contains(readiness(t, late), "waiting for the bus since ")
	})
	dead := time.NewTimer(outage(t))
	defer dead.Stop()
	select {
	case <-dead.C:
	case err := <-published:
		t.Fatalf("rows were published to a dead bus: %v", err)
	}
	d.Bus.Start()
	for _, admin := range []string{there, late} {
		rig.Eventually(t, "who waited is ready", func() bool { return readiness(t, admin) == "ok" })
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	for job, n := range map[string]int{"running": rows, "knocking": later} {
		d.Await(events.JobDone, job)
		d.WantAllSucceeded(job, n)
	}
	d.WantPaid(models+1, rows+later)
	d.WantQuietEnd() // none has ended before: a dead bus is waited for
}
