package client

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Result is a result event and where it stands.
type Result struct {
	events.Result
	Raw      []byte // the event as it was published, objects resolved
	Sequence uint64 // in BATCHBUS_RESULTS: go on reading from the next one
}

// Results yields the results of a job that stand in the stream now, from the given sequence on, in the order in which they were
// published. It ends after the first error. To follow a job, call it again from behind the last sequence.
func (c *Client) Results(ctx context.Context, queue, job string, from uint64) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		for message, err := range c.read(ctx, jetstore.StreamResults, events.ResultsFilter(queue, job), from) {
			var result Result
			if err == nil {
				result, err = parseResult(&message)
			}
			if !yield(result, err) || err != nil {
				return
			}
		}
	}
}

// parseResult reads a result event whose object is resolved.
func parseResult(message *jetstore.Message) (Result, error) {
	parsed, err := events.ParseResult(message.Data)
	return Result{Result: parsed, Raw: message.Data, Sequence: message.Sequence}, err
}

// DeadLetter is a dead letter and where it stands.
type DeadLetter struct {
	events.DeadLetter
	Raw      []byte
	Standing uint64 // sequence in BATCHBUS_DEADLETTERS; the embedded Sequence is the input's in BATCHBUS_REQUESTS
}

// DeadLetters yields the dead letters of a job in the same way.
func (c *Client) DeadLetters(ctx context.Context, queue, job string, from uint64) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		for message, err := range c.read(ctx, jetstore.StreamDeadletters, events.DeadlettersFilter(queue, job), from) {
			letter := DeadLetter{Raw: message.Data, Standing: message.Sequence}
			if err == nil {
				letter.DeadLetter, err = events.ParseDeadLetter(message.Data)
			}
			if !yield(letter, err) || err != nil {
				return
			}
		}
	}
}

// Event is an event and where it stands.
type Event struct {
	events.Event
	Raw      []byte
	Standing uint64 // sequence in BATCHBUS_EVENTS
}

// Events yields the events of a job in the same way. A change's event comes a moment after the change.
func (c *Client) Events(ctx context.Context, queue, job string, from uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for message, err := range c.read(ctx, jetstore.StreamEvents, events.EventSubject("*.*", queue, job, ">"), from) {
			event := Event{Raw: message.Data, Standing: message.Sequence}
			if err == nil {
				event.Event, err = events.ParseEvent(message.Data)
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// read yields messages with their objects resolved.
func (c *Client) read(ctx context.Context, stream, filter string, from uint64) iter.Seq2[jetstore.Message, error] {
	return func(yield func(jetstore.Message, error) bool) {
		for message, err := range c.bus.Read(ctx, stream, filter, from) {
			if err == nil {
				message.Data, err = c.payload(ctx, &message)
			}
			if !yield(message, err) || err != nil {
				return
			}
		}
	}
}

func (c *Client) payload(ctx context.Context, message *jetstore.Message) ([]byte, error) {
	object, external := jetstore.ObjectOf(message.Header)
	if !external {
		return message.Data, nil
	}
	r, err := c.bus.OpenObject(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("open object of %s: %w", message.Subject, err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read object of %s: %w", message.Subject, err)
	}
	return data, nil
}
