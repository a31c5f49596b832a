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
			if _, err := io.WriteString(writer, chat(rowID(i), "m", fmt.Sprintf("%d %s", i, filler))); err != nil {
				return // nobody reads any more
			}
		}
		writer.Close()
	}()
	return reader
}

//nolint:paralleltest // its memory is measured
func TestEachServiceMayBeKilledInTheMiddleOfABigJob(t *testing.T) {
	d := deploy(t, shape{replicas: 1, simulator: []string{"--rows-per-second=10000"}})
	began := time.Now()
	published := make(chan error, 1)
	input := bigInput()
	defer input.Close()
	go func() { published <- d.tryPublish(within(t), "big", input) }()

	eventually(t, "ingest is at it", func() bool { return d.count(jetstore.StreamRows) > 20 })
	d.killAndRestart("ingest")
	d.await(events.BatchIsPlanned, "big")
	d.killAndRestart("submitter")
	d.await(events.BatchIsSubmitted, "big")
	d.killAndRestart("poller")
	eventually(t, "the collector is at it", func() bool { return d.count(jetstore.StreamResults) > 1000 })
	d.killAndRestart("collector")
	if d.stands(jetstore.StreamEvents, events.EventSubject(events.JobDone, queue, "big", ">")) {
		t.Error("the job was done before the last kill")
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	d.await(events.JobDone, "big")
	t.Logf("%d rows in %s", bigRows, time.Since(began).Round(time.Second))

	d.wantAllSucceeded("big", bigRows)
	d.wantPaid(3, bigRows)
	d.wantLittleMemory()
}

// wantLittleMemory checks the most memory that each service process has had.
func (d *deployment) wantLittleMemory() {
	d.t.Helper()
	if runtime.GOOS != "linux" {
		d.t.Log("NOT CHECKED: the peak memory of other processes is only read on Linux")
		return
	}
	for name, replicas := range d.running {
		for _, p := range replicas {
			p.measure()
			d.t.Logf("%s: at most %d MiB", name, p.peak>>20)
			if p.peak == 0 || p.peak > maxMemory {
				d.t.Errorf("%s had %d MiB resident, want at most %d", name, p.peak>>20, maxMemory>>20)
			}
		}
	}
}
