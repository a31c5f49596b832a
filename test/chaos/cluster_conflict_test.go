package chaos_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

// codeUncommitted is what a leader says of a write that contradicts one which it has not committed yet.
const codeUncommitted = 10164

func TestAConflictWithAWriteThatIsNotCommittedMeansAgain(t *testing.T) { //nolint:paralleltest // beside the other clusters it would be late
	c := startNodes(t, rig.Shape{})
	settings := jetstore.Settings{Replicas: nodes, MaxStore: clusterStore}
	if err := jetstore.Setup(rig.Patiently(t), c.JS, settings); err != nil {
		t.Fatal(err)
	}
	c.lead(jetstore.StreamResults, 0)
	conn, err := nats.Connect(c.ways[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	store, err := jetstore.Open(conn)
	if err != nil {
		t.Fatal(err)
	}
	const subject = "batchbus.results.default.job.row"
	heal := c.cutOff()
	first, err := store.JetStream().PublishMsgAsync(message(subject, "first"), jetstream.WithExpectLastSequencePerSubject(0))
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.JetStream().PublishMsg(rig.Patiently(t), message(subject, "second"), jetstream.WithExpectLastSequencePerSubject(0))
	refused, ok := errors.AsType[*jetstream.APIError](err)
	if !ok || refused.ErrorCode != codeUncommitted || jetstore.Classify(err) != jetstore.Again {
		t.Errorf("the second publish: %v, which is %q", err, jetstore.Classify(err))
	}

	// The store asks on, and hears the truth once the write of the first is committed: it is not the one whose message stands there.
	answered := make(chan error, 1)
	go func() {
		_, err := store.PublishOnce(rig.Patiently(t), message(subject, "third"))
		answered <- err
	}()
	quiet := time.NewTimer(500 * time.Millisecond)
	defer quiet.Stop()
	select {
	case err := <-answered:
		t.Errorf("the store has believed the leader without the others: %v", err)
	case <-quiet.C:
	}
	heal()
	if err := <-answered; !errors.Is(err, jetstore.ErrExists) {
		t.Errorf("the third publish: %v", err)
	}
	select {
	case <-first.Ok():
	case err := <-first.Err():
		t.Errorf("the first publish: %v", err)
	}
	if m, err := c.Store.Last(rig.Patiently(t), jetstore.StreamResults, subject); err != nil || string(m.Data) != "first" || c.Count(jetstore.StreamResults) != 1 {
		t.Errorf("%q stands there, %v; %d messages", m.Data, err, c.Count(jetstore.StreamResults))
	}
}

func message(subject, text string) *nats.Msg {
	return &nats.Msg{Subject: subject, Header: nats.Header{}, Data: []byte(text)}
}
