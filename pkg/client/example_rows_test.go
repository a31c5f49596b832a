package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// tickets are rows made of what a program has, each with an id that is the same whenever it is made again.
func tickets(numbers ...int) iter.Seq2[client.Row, error] {
	return func(yield func(client.Row, error) bool) {
		for _, n := range numbers {
			line := fmt.Sprintf(`{"custom_id":"ticket-%d","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"x"}}`, n)
			if !yield(client.Row{Line: []byte(line), ID: strconv.Itoa(n)}, nil) {
				return
			}
		}
	}
}

// The bus drops what it has already: it knows a row by its Nats-Msg-Id, which is made of queue, job and Row.ID.
func ExampleClient_PublishRows() {
	bus, stop := startBus()
	defer stop()
	ctx, c := context.Background(), client.New(bus)
	n, err := c.PublishRows(ctx, "default", "tickets", tickets(1, 2, 3), nil)
	fmt.Println(n, err)
	n, err = c.PublishRows(ctx, "default", "tickets", tickets(1, 2, 3, 4), nil) // after a crash, or by mistake
	fmt.Println(n, err)

	requests, err := bus.JetStream().Stream(ctx, jetstore.StreamRequests)
	must(err)
	fmt.Println(requests.CachedInfo().State.Msgs, "messages")
	// Output:
	// 3 <nil>
	// 4 <nil>
	// 4 messages
}

// A publisher is slowed down by a bus without room, and is told when it stays so.
func ExampleClient_WithFullTimeout() {
	bus, stop := startBus()
	defer stop()
	ctx := context.Background()
	stream, err := bus.JetStream().Stream(ctx, jetstore.StreamRequests)
	must(err)
	config := stream.CachedInfo().Config
	config.MaxBytes = 1000 // a small bus, whose services are down
	_, err = bus.JetStream().UpdateStream(ctx, config)
	must(err)

	_, err = client.New(bus).WithFullTimeout(time.Second).PublishRows(ctx, "default", "tickets", tickets(1, 2, 3, 4, 5, 6, 7, 8, 9), nil)
	if full, ok := errors.AsType[*client.FullError](err); ok {
		fmt.Println(full.Stream, "may hold", full.Limit, "bytes: later, or with more room, publish all of them again")
	}
	// Output: BATCHBUS_REQUESTS may hold 1000 bytes: later, or with more room, publish all of them again
}

func ExampleClient_Await() {
	bus, stop := startBus()
	defer stop()
	go putAnswer(bus)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := client.New(bus).Await(ctx, "default", "nightly", "a")
	fmt.Println(result.Outcome, string(result.Response), err)
	// Output: succeeded {"answer":42} <nil>
}

// A result too big for a message names an object, which Results and Await read for you, its digest checked.
func ExampleClient_Results_objects() {
	bus, stop := startBus()
	defer stop()
	ctx := context.Background()
	r := events.Result{CustomID: "big", Queue: "default", Job: "nightly", Outcome: events.Succeeded}
	envelope := r.Append(nil)
	r.Response = json.RawMessage(`"` + strings.Repeat("x", 9<<20) + `"`)
	m := &nats.Msg{Subject: events.ResultSubject(r.Queue, r.Job, r.CustomID), Data: r.Append(nil)}
	m, err := bus.Fit(ctx, jetstore.StreamResults, m, envelope) // as the collector does
	must(err)
	_, err = bus.PublishOnce(ctx, m)
	must(err)
	_, external := jetstore.ObjectOf(m.Header)
	fmt.Println("in an object:", external)

	for result, err := range client.New(bus).Results(ctx, "default", "nightly", 0) {
		must(err)
		fmt.Println(result.CustomID, len(result.Response), "bytes")
	}
	// Output:
	// in an object: true
	// big 9437186 bytes
}

func ExampleClient_DeadLetters() {
	bus, stop := startBus()
	defer stop()
	ctx := context.Background()
	d := events.DeadLetter{
		Code: events.DLDuplicate, Message: "the same row came before", Queue: "default", Job: "nightly", Source: strings.Repeat("0", 32),
		Payload: []byte(`{"custom_id":"a"}`),
	}
	_, err := bus.PublishOnce(ctx, &nats.Msg{Subject: events.DeadletterSubject(d.Queue, d.Job, d.Source), Data: d.Append(nil)})
	must(err)
	for letter, err := range client.New(bus).DeadLetters(ctx, "default", "nightly", 0) {
		must(err)
		fmt.Println(letter.Code, string(letter.Payload))
	}
	// Output: duplicate {"custom_id":"a"}
}
