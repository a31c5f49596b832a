package ingest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/ingest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestASealStandsBehindItsRows(t *testing.T) {
	t.Parallel()
	r := newRig(t, jetstoretest.Start(t))
	r.publish("default.j", row("a"))
	r.publish("default.j", row("b")+"\n"+row("c"), events.HeaderSeal, "true", events.HeaderExpectedRows, "3")
	r.publish("default.j", row("late"))
	r.publish("default.j", "", events.HeaderSeal, "true")
	r.publish("default.empty", "", events.HeaderSeal, "true", events.HeaderExpectedRows, "none")
	defer r.run(nil)()
	r.ingested()
	r.want("default", "j", "a b c seal late seal")
	r.want("default", "empty", "seal")
	if _, ok := r.job("default", "empty"); !ok {
		t.Error("a seal opens its job")
	}
	first, err := r.Store.First(context.Background(), jetstore.StreamRows, events.RowsSubject("default", "empty"))
	if expected, sealed := block.ReadSeal(first.Data); err != nil || !sealed || expected != nil {
		t.Errorf("got %v %v %v", expected, sealed, err)
	}
	for m := range r.Store.Read(context.Background(), jetstore.StreamRows, events.RowsSubject("default", "j"), 1) {
		if expected, sealed := block.ReadSeal(m.Data); sealed {
			if at := block.SealSequence(m.Data); expected == nil || *expected != 3 || at != 2 {
				t.Errorf("the first seal, the second message, expects %v and stood at %d", expected, at)
			}
			break
		}
	}
}

func TestRowsOfOtherPublishersAreBeforeASealPublishedAfterThem(t *testing.T) {
	t.Parallel()
	r := newRig(t, jetstoretest.Start(t))
	const publishers, each = 4, 60
	for range 3 { // replicas
		defer r.run(func(c *ingest.Config) { c.FetchMessages = 7 })()
	}
	var group sync.WaitGroup
	for p := range publishers {
		nc, err := r.Server.Connect()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		bus, err := jetstore.Open(nc)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for i := range each {
				m := &nats.Msg{Subject: "batchbus.requests.default.j", Data: []byte(row(fmt.Sprintf("%d-%d", p, i)))}
				if _, err := bus.Publish(context.Background(), m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	r.publish("default.j", row("last"), events.HeaderSeal, "true")
	r.ingested()
	seen := map[string]bool{}
	for _, e := range r.stored("default", "j") {
		if e == nil {
			break
		}
		seen[e.CustomID] = true
	}
	if len(seen) != publishers*each+1 {
		t.Errorf("%d rows of %d are before the seal", len(seen), publishers*each+1)
	}
}

func TestACancelIsNotedAndSeals(t *testing.T) {
	t.Parallel()
	r := newRig(t, jetstoretest.Start(t))
	ctx := context.Background()
	r.publish("default.j", row("a"))
	r.publish("default.j", row("b"), events.HeaderCancel, "true")
	defer r.run(nil)()
	r.ingested()
	r.want("default", "j", "a b seal")
	j, _ := r.job("default", "j")
	if j.CancelWanted == nil {
		t.Fatal("the wish is not in the job's state")
	}
	r.publish("default.j", "", events.HeaderCancel, "true")
	r.ingested()
	if again, _ := r.job("default", "j"); !again.CancelWanted.Equal(*j.CancelWanted) {
		t.Error("a second cancel changed the time of the first")
	}
	filter := events.EventSubject(events.JobCancelling, "default", "j", "*")
	count := 0
	for m, err := range r.Store.Read(ctx, jetstore.StreamJobs, filter, 1) {
		e, parseErr := events.ParseEvent(m.Data)
		if err != nil || parseErr != nil || e.JobState.CancelWanted == nil {
			t.Fatal(err, parseErr)
		}
		count++
	}
	if count != 1 {
		t.Errorf("%d events tell of it", count)
	}
}
