package deploy_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

const (
	publishers   = 3
	rowsEach     = 400
	rowsInterval = 30 * time.Millisecond // of each publisher: the rows are spread over a few windows
)

// rollingPublisher publishes rows without a job, each in a message of its own, and among them again and again the same one.
func rollingPublisher(ctx context.Context, conn *nats.Conn, n int) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return fmt.Errorf("open JetStream: %w", err)
	}
	pace := time.NewTicker(rowsInterval)
	defer pace.Stop()
	for i := range rowsEach {
		row := rig.Chat(fmt.Sprintf("p%d-%04d", n, i), "m", "hello")
		if i%10 == 0 {
			row = rig.Chat("same", "m", "hello")
		}
		m := nats.NewMsg("batchbus.requests.default")
		m.Data = []byte(row)
		m.Header.Set("Nats-Msg-Id", fmt.Sprintf("p%d-%d", n, i))
		if _, err := js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(20)); err != nil {
			return fmt.Errorf("publish row %d of publisher %d: %w", i, n, err)
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func TestRollingJobsOfThreePublishersSealThemselvesWhileAReplicaDies(t *testing.T) {
	t.Parallel()
	d := rig.Deploy(t, rig.Shape{Replicas: 2, Services: []string{"--linger=4s"}})
	group, ctx := errgroup.WithContext(rig.Patiently(t))
	for n := range publishers {
		conn := d.Connect()
		group.Go(func() error { return rollingPublisher(ctx, conn, n) })
	}
	rig.Eventually(t, "rows are ingested", func() bool { return d.Count(jetstore.StreamRows) > 10 })
	d.KillAndRestart("ingest")
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	rolling := rollingJobs(t, d, publishers*rowsEach)
	if len(rolling) < 3 {
		t.Errorf("jobs %v: want several windows", rolling)
	}
	var total, letters int
	answered := map[string]string{}
	for _, job := range rolling {
		d.Await(events.JobDone, job)
		results := d.Results(job)
		total += len(results)
		for id, r := range results {
			if id == "same" {
				continue // once a window
			}
			if other, twice := answered[id]; twice || r.Outcome != events.Succeeded {
				t.Errorf("row %s: %s in %s; in another job %q", id, r.Outcome, job, other)
			}
			answered[id] = job
		}
		for _, l := range d.DeadLetters(job) {
			letters++
			if l.Code != events.DLDuplicate || l.CustomID != "same" {
				t.Errorf("dead letter %s", l.Raw)
			}
		}
	}
	if want := publishers * rowsEach * 9 / 10; len(answered) != want || total+letters != publishers*rowsEach {
		t.Errorf("%d rows answered, want %d; %d results and %d dead letters for %d rows", len(answered), want, total, letters, publishers*rowsEach)
	}
	d.WantPaid(len(rolling), total)
}

// rollingJobs waits until every row has its result or dead letter, and returns the jobs that the results belong to.
func rollingJobs(t *testing.T, d *rig.Deployment, rows uint64) []string {
	t.Helper()
	rig.Eventually(t, "every row has its end", func() bool {
		return d.Count(jetstore.StreamResults)+d.Count(jetstore.StreamDeadletters) >= rows
	})
	stream, err := d.JS.Stream(rig.Patiently(t), jetstore.StreamResults)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(rig.Patiently(t), jetstream.WithSubjectFilter("batchbus.results.default.>"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^auto-\d{8}T\d{6}Z-4$`)
	var rolling []string
	for subject := range info.State.Subjects {
		job := strings.Split(subject, ".")[3]
		if slices.Contains(rolling, job) {
			continue
		}
		if !name.MatchString(job) {
			t.Errorf("a rolling job is called %s", job)
		}
		rolling = append(rolling, job)
	}
	return rolling
}
