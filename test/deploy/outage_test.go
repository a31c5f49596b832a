package deploy_test

import (
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

func TestADeadNATSInTheMiddleLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	const rows, models, later = 5000, 5, 2000
	d := rig.Deploy(t, rig.Shape{Replicas: 2, Simulator: []string{"--rows-per-second=200"}})
	d.Publish("running", strings.NewReader(rig.Numbered(rows, models)))
	rig.Eventually(t, "results come", func() bool { return d.Count(jetstore.StreamResults) > 100 })
	d.Bus.Kill()
	if d.Count(jetstore.StreamResults) != 0 {
		t.Fatal("NATS still answers")
	}
	published := make(chan error, 1)
	ctx := rig.Patiently(t)
	go func() { published <- d.TryPublish(ctx, "knocking", strings.NewReader(rig.Numbered(later, 1))) }()

	dead := time.NewTimer(outage(t))
	defer dead.Stop()
	select {
	case <-dead.C:
	case err := <-published:
		t.Fatalf("rows were published to a dead bus: %v", err)
	}
	d.Bus.Start()
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
