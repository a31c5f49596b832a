package chaos_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

const (
	clusterJob    = "cluster"
	clusterRows   = 1600
	clusterModels = 8
	// cutFor is longer than an election takes (1.6 to 7.8 s measured, nats-facts.md), and than the ten seconds after which a leader without
	// the others gives up.
	cutFor = 15 * time.Second
	// createDelay is how long each create takes: less than the services wait for its answer.
	createDelay = 2 * time.Second
	// longestStall is how long nothing may be stored by anybody after a disturbance: an election, and the waits of our own that begin anew
	// with it (the ack wait, the answer to a create and its quiet period, a sweep), on a busy machine. Measured:
	// 0.8 to 31 s on two loaded cores.
	longestStall = time.Minute
)

// stage is a part of a job's way: what to disturb and when.
type stage struct {
	name             string
	stream, consumer string // the stream that the stage stores into, and the consumer of another that drives it
	feeds            string // the consumer's stream
	underWay         func(c *cluster) bool
	over             func(c *cluster) bool // then the disturbance would come too late to mean anything
}

func stages() []stage {
	planned := func(c *cluster) bool { return c.Happened(events.JobFullyPlanned, clusterJob) }
	return []stage{
		{
			name: "ingest", stream: jetstore.StreamRows, consumer: jetstore.ConsumerIngest, feeds: jetstore.StreamRequests,
			underWay: func(c *cluster) bool { return c.Count(jetstore.StreamRows) > 3 }, over: planned,
		},
		{
			name: "planning", stream: jetstore.StreamJobs, consumer: jetstore.ConsumerPlanner, feeds: jetstore.StreamRows,
			underWay: func(c *cluster) bool { return c.walked() > 0 }, over: planned,
		},
		{
			name: "create", stream: jetstore.StreamJobs, consumer: jetstore.ConsumerSubmitter, feeds: jetstore.StreamEvents,
			underWay: func(c *cluster) bool { return c.Happened(events.BatchIsCreating, clusterJob) },
			over:     func(c *cluster) bool { return c.submitted() == clusterModels },
		},
		{
			name: "collection", stream: jetstore.StreamResults, consumer: jetstore.ConsumerCollector, feeds: jetstore.StreamEvents,
			underWay: func(c *cluster) bool { return c.Count(jetstore.StreamResults) > clusterRows/10 },
			over:     func(c *cluster) bool { return c.Happened(events.JobDone, clusterJob) },
		},
	}
}

// walked is the sequence up to which the job is walked.
func (c *cluster) walked() uint64 {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	e, err := c.Store.Get(ctx, events.JobKey(rig.Queue, clusterJob))
	if err != nil {
		return 0
	}
	j, err := events.ParseJob(e.Value)
	if err != nil {
		c.t.Fatal(err)
	}
	return j.Walked.Sequence
}

// submitted is how many batches the provider has, by the ledger.
func (c *cluster) submitted() int { return len(c.Ledger().Creates) }

// disturbance is what happens to the cluster in the middle of a stage. It returns when it is over.
type disturbance struct {
	name string
	do   func(c *cluster, s *stage)
}

func disturbances() []disturbance {
	return []disturbance{
		{"the leader is killed", killLeader},
		{"the leaders step down", stepDownLeaders},
		{"the leader is cut off with its clients", cutOffLeader},
	}
}

func killLeader(c *cluster, s *stage) {
	c.t.Helper()
	victim := -1
	rig.Eventually(c.t, s.stream+" has a leader", func() bool { victim = c.leader(s.stream); return victim >= 0 })
	c.Nodes[victim].Kill()
	rig.Eventually(c.t, s.stream+" has another leader", func() bool { l := c.leader(s.stream); return l >= 0 && l != victim })
	c.Nodes[victim].Start()
}

func stepDownLeaders(c *cluster, s *stage) {
	c.t.Helper()
	before := c.leader(s.stream)
	c.stepDown("$JS.API.STREAM.LEADER.STEPDOWN."+s.stream, -1)
	c.stepDown("$JS.API.CONSUMER.LEADER.STEPDOWN."+s.feeds+"."+s.consumer, -1)
	c.stepDown("$JS.API.STREAM.LEADER.STEPDOWN."+s.feeds, -1)
	rig.Eventually(c.t, s.stream+" has another leader", func() bool { l := c.leader(s.stream); return l >= 0 && l != before })
}

func cutOffLeader(c *cluster, s *stage) {
	c.t.Helper()
	heal := c.cutOff() // node 0 leads: the test saw to that
	timer := time.NewTimer(cutFor)
	defer timer.Stop()
	for _, service := range rig.Services() {
		rig.Eventually(c.t, service+" of the smaller side says that the bus does not answer", func() bool {
			return strings.Contains(c.whyNotReady(c.Running[service][0]), "does not answer")
		})
		if why := c.whyNotReady(c.Running[service][1]); why != "" {
			c.t.Logf("%s of the greater side is not ready just now: %s", service, why)
		}
	}
	rig.Eventually(c.t, s.stream+" has another leader", func() bool { return c.leader(s.stream) > 0 })
	<-timer.C
	heal()
	for _, service := range rig.Services() {
		rig.Eventually(c.t, service+" is ready again", func() bool { return c.whyNotReady(c.Running[service][0]) == "" })
	}
}

// TestAClusterGoesOnThroughDisturbancesOfEveryStage disturbs three nodes in the middle of each stage of a job. CI has a part of it; everything
// is
//
//	BATCHBUS_CHAOS=all go test ./test/chaos -run Cluster -timeout 1h
func TestAClusterGoesOnThroughDisturbancesOfEveryStage(t *testing.T) { //nolint:paralleltest // three nodes, eight services: one at a time
	for i, s := range stages() {
		for j, d := range disturbances() {
			t.Run(s.name+"/"+d.name, func(t *testing.T) {
				if os.Getenv("BATCHBUS_CHAOS") != "all" && (i != 2 || j != 2) && (i != 3 || j != 0) {
					t.Skip("SKIPPED: one of the disturbances that only BATCHBUS_CHAOS=all runs; the gate runs two of them, docs/failure-model.md says when all ran")
				}
				disturb(t, &s, d)
			})
		}
	}
}

func disturb(t *testing.T, s *stage, d disturbance) {
	t.Helper()
	c := deployCluster(t, rig.Shape{Simulator: []string{"--rows-per-second=15"}, Ways: slowCreates(t)})
	for _, stream := range []string{jetstore.StreamRows, jetstore.StreamJobs, jetstore.StreamResults, s.feeds} {
		c.lead(stream, 0)
	}
	published := make(chan error, 1)
	ctx := rig.Patiently(t)
	go func() { published <- c.TryPublish(ctx, clusterJob, slowly(clusterRows)) }()
	rig.Eventually(t, s.name+" is under way", func() bool { return s.underWay(c) })
	if s.over(c) {
		t.Fatalf("%s is over before it could be disturbed", s.name)
	}
	watch := watchStalls(c.progress)
	d.do(c, s)
	if err := <-published; err != nil {
		t.Error(err)
	}
	c.Await(events.JobDone, clusterJob)
	stall := watch.end()
	t.Logf("%s, %s: nothing was stored for %s at most", s.name, d.name, stall.Round(100*time.Millisecond))
	if stall > longestStall {
		t.Errorf("nothing was stored for %s", stall)
	}
	c.wantSound()
}

// wantSound waits until nothing is under way any more, and judges everything.
func (c *cluster) wantSound() {
	c.t.Helper()
	rig.Eventually(c.t, "nothing is under way", func() bool { return len(c.Waiting()) == 0 })
	want := expectation{dues: []due{{job: clusterJob, published: clusterRows, outcomes: map[string]int{"succeeded": clusterRows}}}}
	var left *rig.Left
	var broken []violation
	// A node that was cut off answers reads before it has caught up: what it shows under way is over. What stays so is a violation.
	rig.Within(rig.Patience, func() bool {
		left = c.Look()
		broken = judge(left, want)
		return !slices.ContainsFunc(broken, func(v violation) bool { return v.invariant == quiet })
	})
	for _, v := range broken {
		c.t.Error(v)
	}
	if n := zombieRows(left); n > 0 {
		c.t.Logf("%d rows ran in batches that were cancelled", n)
	}
	c.WantAllSucceeded(clusterJob, clusterRows)
	c.WantQuietEnd()
}

// slowly is the input of a publisher that takes some seconds for it.
func slowly(rows int) io.Reader {
	reader, writer := io.Pipe()
	go func() {
		defer writer.Close()
		tick := time.NewTicker(60 * time.Millisecond)
		defer tick.Stop()
		for i, line := range strings.SplitAfter(rig.Numbered(rows, clusterModels), "\n") {
			if _, err := io.WriteString(writer, line); err != nil {
				return // nobody reads any more
			}
			if i%10 == 0 {
				<-tick.C
			}
		}
	}()
	return reader
}

// slowCreates is a way to the provider on which each create takes a while, so that the stage of creates is one.
func slowCreates(t *testing.T) func(string, int, rig.Ways) rig.Ways {
	t.Helper()
	return func(service string, _ int, direct rig.Ways) rig.Ways {
		if service != "submitter" {
			return direct
		}
		target, err := url.Parse(direct.Provider)
		if err != nil {
			t.Fatal(err)
		}
		way := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/batches") {
				timer := time.NewTimer(createDelay)
				defer timer.Stop()
				<-timer.C
			}
			way.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		direct.Provider = server.URL
		return direct
	}
}
