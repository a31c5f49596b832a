package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// Function is one function that a model may call. It must only read.
type Function struct {
	Name        string // letters, digits, _ and -
	Description string // for the model
	Parameters  string // JSON schema of the arguments
	// Call gets the arguments as the model wrote them and returns the text for the model. An error that wraps [ErrArguments] blames the arguments.
	// It should end with ctx; one that does not is left behind and its result dropped.
	Call func(ctx context.Context, arguments []byte) (string, error)
}

// ErrArguments is returned when the arguments of a call are not what the function takes.
var ErrArguments = errors.New("bad arguments")

// Limits bound one call.
type Limits struct {
	Timeout     time.Duration // of a call
	ResultBytes int           // of its result
}

// Registry is a set of functions. It is safe for concurrent use.
type Registry struct {
	limits      Limits
	functions   map[string]Function
	definitions []byte
}

// New makes a registry. Names that are none, or that stand there twice, and parameters that are no JSON are errors.
func New(limits Limits, functions ...Function) (*Registry, error) {
	r := &Registry{limits: limits, functions: make(map[string]Function, len(functions)), definitions: []byte("[")}
	for i, f := range functions {
		if _, twice := r.functions[f.Name]; twice || !events.IsToken(f.Name) {
			return nil, fmt.Errorf("register tool %q: its name is taken or no name", f.Name)
		}
		if !json.Valid([]byte(f.Parameters)) {
			return nil, fmt.Errorf("register tool %q: its parameters are no JSON", f.Name)
		}
		if r.functions[f.Name] = f; i > 0 {
			r.definitions = append(r.definitions, ',')
		}
		r.definitions = f.appendDefinition(r.definitions)
	}
	r.definitions = append(r.definitions, ']')
	return r, nil
}

func (f Function) appendDefinition(dst []byte) []byte {
	dst = append(events.AppendString(append(dst, `{"type":"function","function":{"name":`...), f.Name), `,"description":`...)
	dst = append(events.AppendString(dst, f.Description), `,"parameters":`...)
	return append(append(dst, f.Parameters...), `}}`...)
}

// Definitions are the functions as the member "tools" of a chat request, JSON. They are not to be changed.
func (r *Registry) Definitions() []byte { return r.definitions }

// Outcome says how a call ended.
type Outcome string

// The outcomes of a call.
const (
	OK           Outcome = "ok"
	Unknown      Outcome = "unknown_tool"
	BadArguments Outcome = "bad_arguments"
	Failed       Outcome = "failed"    // the function returned an error or panicked
	TimedOut     Outcome = "timed_out" // it took longer than the limit
	TooLarge     Outcome = "too_large" // its result was longer than the limit
)

// Call calls a function and returns the text for the model, which says so when there is no result. It blocks for Limits.Timeout at most. The only
// error is that of ctx having ended: then nothing is known of the call.
func (r *Registry) Call(ctx context.Context, name, arguments string) (string, Outcome, error) {
	f, known := r.functions[name]
	if !known {
		return "error: there is no tool of this name", Unknown, nil
	}
	limited, cancel := context.WithTimeout(ctx, r.limits.Timeout)
	defer cancel()
	text, err := f.within(limited, []byte(arguments))
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case limited.Err() != nil:
		return "error: the tool took longer than " + r.limits.Timeout.String(), TimedOut, nil
	case errors.Is(err, ErrArguments):
		return r.short("error: " + err.Error()), BadArguments, nil
	case err != nil:
		return r.short("error: the tool failed: " + err.Error()), Failed, nil
	case len(text) > r.limits.ResultBytes:
		return fmt.Sprintf("error: the result is %d bytes long, more than the %d allowed: ask for less", len(text), r.limits.ResultBytes), TooLarge, nil
	}
	return strings.ToValidUTF8(text, "?"), OK, nil
}

// short keeps the text of an error within the limit of results.
func (r *Registry) short(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), r.limits.ResultBytes)], "?")
}

// within calls the function in a goroutine of its own, so that one that does not end with ctx is not waited for.
func (f Function) within(ctx context.Context, arguments []byte) (string, error) {
	type result struct {
		text string
		err  error
	}
	ended := make(chan result, 1) // one that nobody waits for any more can end all the same
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = errors.New("it panicked: " + strconv.Quote(fmt.Sprint(p)))
			}
			ended <- r
		}()
		r.text, r.err = f.Call(ctx, arguments)
	}()
	select {
	case r := <-ended:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
