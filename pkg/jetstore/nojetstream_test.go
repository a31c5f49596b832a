package jetstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestASetupOnAServerWithoutJetStreamSaysSo(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	store, err := jetstore.Open(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // at once, not after the half minute that a start may take
	defer cancel()
	err = jetstore.Setup(ctx, store.JetStream(), jetstore.Settings{})
	if !errors.Is(err, jetstore.ErrNoJetStream) || ctx.Err() != nil || !strings.Contains(err.Error(), "is it enabled") {
		t.Errorf("error = %v", err)
	}
}
