package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/natsd"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// startBus starts a server in this process; a program of yours would say nats.Connect and jetstore.Open.
func startBus() (*jetstore.Store, func()) {
	dir, err := os.MkdirTemp("", "bus")
	must(err)
	server, err := natsd.Start(context.Background(), natsd.Options{Dir: dir, MaxStore: 1 << 30})
	must(err)
	conn, err := server.Connect()
	must(err)
	bus, err := jetstore.Open(conn)
	must(err)
	must(jetstore.Setup(context.Background(), bus.JetStream(), jetstore.Settings{MaxStore: 1 << 30}))
	return bus, func() {
		conn.Close()
		server.Shutdown()
		must(os.RemoveAll(dir))
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleClient_Publish() {
	bus, stop := startBus()
	defer stop()
	rows := `{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"x"}}
{"custom_id":"b","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"y"}}
`
	n, err := client.New(bus).Publish(context.Background(), client.Input{
		Queue: "default", Job: "nightly", Rows: strings.NewReader(rows), Digest: "the file's SHA-256",
	})
	fmt.Println(n, err)
	// Output: 2 <nil>
}

func ExampleClient_Seal() {
	bus, stop := startBus()
	defer stop()
	err := client.New(bus).Seal(context.Background(), "default", "nightly", 2)
	fmt.Println(err)
	// Output: <nil>
}

func ExampleClient_Results() {
	bus, stop := startBus()
	defer stop()
	putAnswer(bus)
	for result, err := range client.New(bus).Results(context.Background(), "default", "nightly", 0) {
		if err != nil {
			log.Print(err)
			break
		}
		fmt.Println(result.CustomID, result.Outcome, string(result.Response))
	}
	// Output: a succeeded {"answer":42}
}

func ExampleClient_Follow() {
	bus, stop := startBus()
	defer stop()
	go putAnswer(bus)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for result, err := range client.New(bus).Follow(ctx, "default", "nightly", 0) { // ends with the job, if nobody breaks off
		if err != nil {
			log.Print(err)
			break
		}
		fmt.Println(result.CustomID, result.Outcome)
		break
	}
	// Output: a succeeded
}

// putAnswer stands for the collector.
func putAnswer(bus *jetstore.Store) {
	r := events.Result{
		CustomID: "a", Queue: "default", Job: "nightly", Outcome: events.Succeeded, Response: json.RawMessage(`{"answer":42}`),
	}
	m := &nats.Msg{Subject: events.ResultSubject(r.Queue, r.Job, r.CustomID), Data: r.Append(nil)}
	_, err := bus.PublishOnce(context.Background(), m)
	must(err)
}
