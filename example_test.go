package batchbus_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// All services run beside the program's own work, on the program's own connection.
func ExampleRun() {
	conn, err := nats.Connect("nats://127.0.0.1:4222", nats.MaxReconnects(-1))
	if err != nil {
		log.Print(err) // no server here: this example is compiled, not run
		return
	}
	defer conn.Close()
	err = batchbus.Run(context.Background(), batchbus.Config{
		Conn:  conn,
		Keys:  map[string]doubleword.Secret{batchbus.DefaultKey: doubleword.NewSecret(os.Getenv("DOUBLEWORD_API_KEY"))},
		Setup: true,
	})
	log.Print(err)
}

// A program without a NATS server keeps the bus in a folder of its own. The provider is the simulator here.
func ExampleOpenLocal() {
	dir, err := os.MkdirTemp("", "batchbus")
	must(err)
	defer func() { must(os.RemoveAll(dir)) }()
	ctx, stop := context.WithCancel(context.Background())
	ready := make(chan struct{})
	local, err := batchbus.OpenLocal(ctx, batchbus.LocalConfig{
		Dir: dir, Simulate: true, MaxStore: 1 << 30, Config: batchbus.Config{Ready: func() { close(ready) }},
	})
	must(err)
	ended := make(chan error, 1)
	go func() { ended <- local.Run(ctx) }()
	<-ready
	answerAll(ctx, local)
	stop()
	must(<-ended)
	must(local.Close())
	// Output:
	// a succeeded
	// b succeeded
}

// answerAll sends two rows and prints what became of them.
func answerAll(ctx context.Context, local *batchbus.Local) {
	conn, err := local.Connect("example")
	must(err)
	defer conn.Close()
	bus, err := jetstore.Open(conn)
	must(err)
	c := client.New(bus)
	rows := `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"one"}]}}
{"custom_id":"b","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"two"}]}}
`
	_, err = c.Publish(ctx, client.Input{Queue: "default", Job: "example", Rows: strings.NewReader(rows)})
	must(err)
	must(c.Seal(ctx, "default", "example", 2))
	for _, id := range []string{"a", "b"} {
		result, err := c.Await(ctx, "default", "example", id)
		must(err)
		fmt.Println(result.CustomID, result.Outcome)
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
