package chaos_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

const (
	keptRows  = 280 // published before the copy was taken
	otherRows = 20  // published after it, and others of that number after the restore
	heldRows  = keptRows + otherRows
)

// heldWorld has a job of heldRows rows, one batch, whose bus went back to before the rows were ingested. The publisher then goes on with other
// rows than before, and the seal: so the batch that is planned now is another one than the provider has on its path.
func heldWorld(t *testing.T, simulator []string, reach func(a *aged)) *aged {
	t.Helper()
	a := deployAged(t, rig.Shape{Simulator: simulator})
	goOn := a.pause("ingest")
	a.publishRows(0, keptRows)
	goBack := a.keep()
	goOn()
	a.publishRows(keptRows, heldRows)
	a.must(a.Client.Seal(rig.Patiently(t), rig.Queue, agedJob, heldRows))
	reach(a)
	goBack(a.kill)
	a.publishRows(heldRows, heldRows+otherRows)
	a.must(a.Client.Seal(rig.Patiently(t), rig.Queue, agedJob, heldRows))
	a.until("held", 1, func(b *events.Batch) bool { return b.Hold != nil && b.Hold.Code == events.HoldBusOlder })
	a.wantHeldInTheOpen()
	return a
}

// publishRows publishes the rows from one to before another.
func (a *aged) publishRows(from, to int) {
	a.t.Helper()
	var text strings.Builder
	for i := from; i < to; i++ {
		text.WriteString(rig.Chat(rig.RowID(i), "model-0", fmt.Sprintf("question %d", i)))
	}
	input := client.Input{Queue: rig.Queue, Job: agedJob, Rows: strings.NewReader(text.String()), Digest: fmt.Sprintf("from %d", from)}
	if _, err := a.Client.Publish(rig.Patiently(a.t), input); err != nil {
		a.t.Fatal(err)
	}
}

// wantHeldInTheOpen checks that a person sees the hold, wherever he looks, and that nothing is paid meanwhile.
func (a *aged) wantHeldInTheOpen() {
	a.t.Helper()
	if status := a.CLI("status", agedJob); !strings.Contains(string(status.Stdout)+string(status.Stderr), events.HoldBusOlder) {
		a.t.Errorf("status does not name the hold:\n%s%s", status.Stdout, status.Stderr)
	}
	if !a.Stands(jetstore.StreamEvents, events.EventSubject(events.BatchHeld, rig.Queue, agedJob, ">")) {
		a.t.Error("no event tells of the hold")
	}
	rig.Eventually(a.t, "a metric shows the hold", func() bool {
		return strings.Contains(a.metrics("submitter"), events.HoldBusOlder)
	})
	b := a.batches()[0]
	remote := a.Ledger().Creates
	if len(remote) != 1 || !strings.Contains(b.Hold.Message, remote[0].BatchID) || b.Rows != heldRows {
		a.t.Errorf("%d batches at the provider; held with %d rows: %s", len(remote), b.Rows, b.Hold.Message)
	}
}

func (a *aged) metrics(service string) string {
	request, err := http.NewRequestWithContext(rig.Patiently(a.t), http.MethodGet, "http://"+a.Running[service][0].Admin+"/metrics", nil)
	a.must(err)
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	a.must(err)
	return string(text)
}

// wantAllAnsweredOnce waits for the end of the job and checks that each row has one result, and that of no path two batches are alive.
func (a *aged) wantAllAnsweredOnce() {
	a.t.Helper()
	a.Await(events.JobDone, agedJob)
	results := a.Results(agedJob)
	for i := range heldRows + otherRows {
		r, answered := results[rig.RowID(i)]
		if gone := i >= keptRows && i < heldRows; answered == gone || answered && r.Outcome != events.Succeeded {
			a.t.Errorf("row %s: answered %v, %s", rig.RowID(i), answered, r.Raw)
		}
	}
	alive := map[string]int{}
	for _, c := range a.Ledger().Creates {
		if live(c) {
			alive[c.Metadata[pathKey]]++
		}
	}
	for path, n := range alive {
		if n > 1 {
			a.t.Errorf("%d live batches of %s", n, path)
		}
	}
	if audit := a.CLI("audit", agedJob, "--provider"); audit.Code != 0 {
		a.t.Errorf("audit ends with %d\n%s%s", audit.Code, audit.Stdout, audit.Stderr)
	}
}

func TestABatchOfAnOlderBusIsAdoptedByAPersonAndEveryRowIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	a := heldWorld(t, nil, func(a *aged) { a.Await(events.JobDone, agedJob) })
	if adopted := a.CLI("batch", "adopt", agedJob+"/1"); adopted.Code != 0 {
		t.Fatalf("adopt ends with %d: %s", adopted.Code, adopted.Stderr)
	}
	a.wantAllAnsweredOnce()
	// An answer counts where its id stands at its row's own place. The ingest that was paused had the first rows in hand, so they may have been
	// stored behind the others this time: then their places are others, and they are run again beside the other rows.
	l := a.Ledger()
	if len(l.Creates) != 2 || l.Creates[0].Rows != heldRows || l.Creates[1].Rows < otherRows || l.Creates[1].Rows > heldRows ||
		len(l.Cancels) > 0 || l.RowsRun != l.Creates[0].Rows+l.Creates[1].Rows {
		t.Errorf("the ledger has %d rows run, in %+v", l.RowsRun, l.Creates)
	}
}

func TestABatchOfAnOlderBusIsAbandonedByAPersonAndStoppedBeforeItsRowsArePaidAnew(t *testing.T) {
	t.Parallel()
	a := heldWorld(t, []string{"--rows-per-second=15"}, func(a *aged) {
		a.until("submitted", 1, func(b *events.Batch) bool { return b.State == events.BatchSubmitted })
	})
	if abandoned := a.CLI("batch", "abandon", agedJob+"/1"); abandoned.Code != 0 {
		t.Fatalf("abandon ends with %d: %s", abandoned.Code, abandoned.Stderr)
	}
	a.wantAllAnsweredOnce()
	l := a.Ledger()
	if len(l.Creates) != 2 || !l.Creates[0].Cancelled || l.Creates[1].Cancelled || l.Creates[1].Rows != heldRows ||
		l.Cancels[0].At.After(l.Creates[1].At) {
		t.Errorf("the ledger has %+v and %+v", l.Creates, l.Cancels)
	}
}
