package batchbus_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) { jetstoretest.Verify(m) }

func TestProgramsThatEmbedServicesShareABusAndKeepTheirConnections(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	server := httptest.NewServer(sim)
	defer server.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error, 2)
	for _, services := range [][]string{{batchbus.Ingest, batchbus.Submitter}, {batchbus.Poller, batchbus.Collector}} {
		go func() {
			ended <- batchbus.Run(ctx, batchbus.Config{
				Conn: f.Conn, Services: services, BaseURL: server.URL + "/v1", Topology: jetstore.Settings{KeepSizes: true},
				Keys:   map[string]doubleword.Secret{batchbus.DefaultKey: doubleword.NewSecret("k")},
				Times:  batchbus.Times{PollFloor: time.Second, PollCeiling: time.Second},
				Prices: []byte(`[{"model":"m","window":"24h","input_per_million":"1","output_per_million":"2","currency":"USD"}]`),
			})
		}()
	}
	c := client.New(f.Store)
	row := `{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"x"}}`
	if _, err := c.Publish(ctx, client.Input{Queue: "default", Job: "j", Rows: strings.NewReader(row)}); err != nil {
		t.Fatal(err)
	}
	if err := c.Seal(ctx, "default", "j", 1); err != nil {
		t.Fatal(err)
	}
	result, err := c.Await(ctx, "default", "j", "a")
	if err != nil || result.Outcome != "succeeded" || result.Cost == nil {
		t.Errorf("got %+v, %v", result.Result, err)
	}
	stop()
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Error(err)
	}
	if f.Conn.IsClosed() {
		t.Error("the program's connection was closed")
	}
}

func TestRunTellsAllFaultsOfAConfig(t *testing.T) {
	t.Parallel()
	err := batchbus.Run(t.Context(), batchbus.Config{Services: []string{"collecter"}})
	for _, want := range []string{"connection", `"collecter"`, "API key"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
	if err := batchbus.Run(t.Context(), batchbus.Config{Prices: []byte("{")}); err == nil || !strings.Contains(err.Error(), "prices") {
		t.Errorf("bad prices: %v", err)
	}
}
