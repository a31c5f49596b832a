package deploy_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
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
	d := deploy(t, shape{replicas: 2, simulator: []string{"--rows-per-second=200"}})
	d.publish("running", strings.NewReader(numbered(rows, models)))
	eventually(t, "results come", func() bool { return d.count(jetstore.StreamResults) > 100 })
	d.bus.kill()
	if d.count(jetstore.StreamResults) != 0 {
		t.Fatal("NATS still answers")
	}
	published := make(chan error, 1)
	ctx := within(t)
	go func() { published <- d.tryPublish(ctx, "knocking", strings.NewReader(numbered(later, 1))) }()

	dead := time.NewTimer(outage(t))
	defer dead.Stop()
	select {
	case <-dead.C:
	case err := <-published:
		t.Fatalf("rows were published to a dead bus: %v", err)
	}
	d.bus.start()
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	for job, n := range map[string]int{"running": rows, "knocking": later} {
		d.await(events.JobDone, job)
		d.wantAllSucceeded(job, n)
	}
	d.wantPaid(models+1, rows+later)
	d.wantQuietEnd() // none has ended before: a dead bus is waited for
}
