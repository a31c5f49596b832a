package deploy_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

const (
	// bigRows is the job of the acceptance test: 120,000 rows of 1 KB, three input files.
	bigRows = 120_000
	// maxMemory is the most that a service process may have resident in that job.
	maxMemory = 300 << 20
)

// bigInput is the big job's rows as a stream.
func bigInput() io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		filler := strings.Repeat("All work and no play makes a dull batch. ", 20)
		for i := range bigRows {
			if _, err := io.WriteString(writer, rig.Chat(rig.RowID(i), "m", fmt.Sprintf("%d %s", i, filler))); err != nil {
				return // nobody reads any more
			}
		}
		writer.Close()
	}()
	return reader
}

//nolint:paralleltest // its memory is measured
func TestEachServiceMayBeKilledInTheMiddleOfABigJob(t *testing.T) {
	d := rig.Deploy(t, rig.Shape{Replicas: 1, Simulator: []string{"--rows-per-second=10000"}})
	began := time.Now()
	published := make(chan error, 1)
	input := bigInput()
	defer input.Close()
	go func() { published <- d.TryPublish(rig.Patiently(t), "big", input) }()

	rig.Eventually(t, "ingest is at it", func() bool { return d.Count(jetstore.StreamRows) > 20 })
	d.KillAndRestart("ingest")
	d.Await(events.BatchIsPlanned, "big")
	d.KillAndRestart("submitter")
	d.Await(events.BatchIsSubmitted, "big")
	d.KillAndRestart("poller")
	rig.Eventually(t, "the collector is at it", func() bool { return d.Count(jetstore.StreamResults) > 1000 })
	d.KillAndRestart("collector")
	if d.Happened(events.JobDone, "big") {
		t.Error("the job was done before the last kill")
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	d.Await(events.JobDone, "big")
	t.Logf("%d rows in %s", bigRows, time.Since(began).Round(time.Second))

	d.WantAllSucceeded("big", bigRows)
	d.WantPaid(3, bigRows)
	wantLittleMemory(t, d)
}

// wantLittleMemory checks the most memory that each service process has had.
func wantLittleMemory(t *testing.T, d *rig.Deployment) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Log("NOT CHECKED: the peak memory of other processes is only read on Linux")
		return
	}
	for name, replicas := range d.Running {
		for _, p := range replicas {
			p.Measure()
			t.Logf("%s: at most %d MiB", name, p.Peak>>20)
			if p.Peak == 0 || p.Peak > maxMemory {
				t.Errorf("%s had %d MiB resident, want at most %d", name, p.Peak>>20, maxMemory>>20)
			}
		}
	}
}
