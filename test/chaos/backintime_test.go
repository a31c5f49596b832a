package chaos_test

import (
	"os"
	"slices"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

const (
	agedRows   = 900
	agedModels = 3
)

// moment is when the copy is taken that the bus goes back to, and how far the world goes on until then.
type moment struct {
	name      string
	replicas  int
	simulator []string
	trap      string // of the submitter, which stops there until the copy is taken
	// reach publishes the job and brings it to the moment; goOn undoes what held it there, once the copy is taken.
	reach func(a *aged) (goOn func())
	// middle: the bus goes back while the collectors are at it, not when the job is done.
	middle bool
}

func moments() []moment {
	return []moment{
		{name: "before a row was ingested", replicas: 1, reach: func(a *aged) func() {
			goOn := a.pause("ingest")
			a.publishAged(agedRows, agedModels)
			return goOn
		}},
		{name: "before planning", replicas: 2, reach: func(a *aged) func() {
			goOn := a.pause("submitter")
			a.publishAged(agedRows, agedModels)
			rig.Eventually(a.t, "all rows are ingested", a.ingested)
			return goOn
		}},
		{name: "planned, before the upload", replicas: 2, reach: func(a *aged) func() {
			a.Fake.Pause()
			a.publishAged(agedRows, agedModels)
			a.until("planned", agedModels, func(b *events.Batch) bool { return b.State == events.BatchPlanned })
			return a.Fake.Resume
		}},
		{name: "uploaded", replicas: 1, trap: "submitter.commit.batch.creating:before:1:stop", reach: reachTrap},
		{name: "creating", replicas: 1, trap: "submitter.call.create_batch:before:1:stop", reach: reachTrap},
		{name: "created, not known", replicas: 1, trap: "submitter.call.create_batch:after:1:stop", reach: reachTrap},
		{name: "submitted", replicas: 2, simulator: []string{"--latency=5s"}, reach: reachSubmitted},
		{name: "submitted, and back amid the results", replicas: 2, simulator: []string{"--latency=5s", "--rows-per-second=50"}, reach: reachSubmitted, middle: true},
		{name: "submitted, and back amid a burst of results", replicas: 1, simulator: []string{"--latency=5s"}, reach: reachSubmitted, middle: true},
		{name: "amid the results", replicas: 2, simulator: []string{"--rows-per-second=60"}, reach: func(a *aged) func() {
			a.publishAged(agedRows, agedModels)
			rig.Eventually(a.t, "results come", func() bool { return a.Count(jetstore.StreamResults) > agedRows/6 })
			return func() {}
		}},
	}
}

// reachTrap waits until the submitter stands in its trap.
func reachTrap(a *aged) func() {
	submitter := a.Running["submitter"][0]
	a.publishAged(agedRows, agedModels)
	rig.Eventually(a.t, "the submitter stands in its trap", submitter.Paused)
	return submitter.Resume
}

func reachSubmitted(a *aged) func() {
	a.publishAged(agedRows, agedModels)
	a.until("submitted", agedModels, func(b *events.Batch) bool { return b.State == events.BatchSubmitted })
	return func() {}
}

// variant is what else happens when the bus goes back.
type variant struct {
	name    string
	restart bool // the services are killed and start anew; else they live through it, with all that they remember
	repeat  bool // the publisher publishes the job once more, since nobody can tell him what was lost
	orderly bool // the server was told to end
}

func variants() []variant {
	return []variant{
		{name: "services live on"},
		{name: "services are restarted", restart: true, orderly: true},
		{name: "the publisher repeats himself", repeat: true},
	}
}

// TestABusThatWentBackInTimePaysNothingTwiceAndLosesNoResult takes a copy of the bus at a moment, lets the world go on, puts the copy back, and
// wants the job to come to the very same end, with not a row more on the provider's bill. CI has a part of it; everything is
//
//	BATCHBUS_CHAOS=all go test ./test/chaos -run BackInTime -timeout 1h
func TestABusThatWentBackInTimePaysNothingTwiceAndLosesNoResult(t *testing.T) {
	t.Parallel()
	for i, m := range moments() {
		for j, v := range variants() {
			t.Run(m.name+"/"+v.name, func(t *testing.T) {
				if os.Getenv("BATCHBUS_CHAOS") != "all" && !inCI(i, j) {
					t.Skip("SKIPPED: one of the restores that only BATCHBUS_CHAOS=all runs; the gate runs two of them, docs/failure-model.md says when all ran")
				}
				t.Parallel()
				goBackInTime(t, &m, v)
			})
		}
	}
}

// inCI chooses moments with services that live on, where faults hide.
func inCI(moment, variant int) bool { return variant == 0 && slices.Contains([]int{3, 8}, moment) }

func goBackInTime(t *testing.T, m *moment, v variant) {
	t.Helper()
	a := deployAged(t, rig.Shape{Replicas: m.replicas, Simulator: m.simulator, Env: func(service string, _ int) []string {
		if service != "submitter" || m.trap == "" {
			return nil
		}
		return []string{"BATCHBUS_FAILPOINT=" + m.trap}
	}})
	goOn := m.reach(a)
	goBack := a.keep()
	goOn()
	if m.middle {
		before := a.Count(jetstore.StreamResults)
		rig.Eventually(t, "results come", func() bool { return a.Count(jetstore.StreamResults) > before+agedRows/6 })
	} else {
		a.wantSound(agedRows, agedModels)
	}
	end, start := a.kill, func() {}
	if v.orderly {
		end = a.stop
	}
	if v.restart {
		start = a.restart()
	}
	goBack(end)
	start()
	if v.repeat {
		a.publishAged(agedRows, agedModels)
	}
	a.wantSound(agedRows, agedModels)
}
