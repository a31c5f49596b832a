package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/batchbus/batchbus/examples/workflow/flow"
	"github.com/batchbus/batchbus/examples/workflow/tools"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// world is a bus, a model and the receipts in memory.
type world struct {
	mu       sync.Mutex
	jobs     map[string]*events.JobStatus
	rows     map[string][]client.Row // of each job, in the order in which they were published first
	letters  map[string]string       // custom_ids that end as dead letters, and their codes
	lost     map[string]bool         // custom_ids that have neither result nor dead letter
	receipts map[string][]byte
	// model answers a row; round counts the results of tools that it holds.
	model func(row string, round int) client.Result
}

func newWorld(model func(row string, round int) client.Result) *world {
	return &world{
		jobs: map[string]*events.JobStatus{}, rows: map[string][]client.Row{}, letters: map[string]string{}, lost: map[string]bool{},
		receipts: map[string][]byte{}, model: model,
	}
}

func (w *world) OpenJob(_ context.Context, q events.OpenJob) (events.JobStatus, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	job, ok := w.jobs[q.Job]
	if !ok {
		job = &events.JobStatus{Queue: q.Queue, Job: q.Job, InputSHA256: q.InputSHA256}
		w.jobs[q.Job] = job
	}
	if job.InputSHA256 != q.InputSHA256 {
		return events.JobStatus{}, &events.APIError{Code: events.APIConflict}
	}
	return *job, nil
}

func (w *world) PublishRows(_ context.Context, _, job string, all iter.Seq2[client.Row, error], _ func(int)) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for row, err := range all {
		if err != nil {
			return n, err
		}
		w.rows[job] = append(w.rows[job], row)
		n++
	}
	return n, nil
}

func (w *world) Seal(_ context.Context, _, job string, expected int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := len(w.rows[job]); got != expected {
		return fmt.Errorf("sealed with %d rows, expected %d", got, expected)
	}
	now := time.Now()
	w.jobs[job].SealedAt = &now
	return nil
}

func (w *world) Follow(_ context.Context, _, job string, _ uint64) iter.Seq2[client.Result, error] {
	return func(yield func(client.Result, error) bool) {
		for _, row := range w.rows[job] {
			id := customID(row.Line)
			if w.lost[id] || w.letters[id] != "" {
				continue
			}
			result := w.model(string(row.Line), strings.Count(string(row.Line), `"role":"tool"`))
			result.CustomID, result.Job = id, job
			if !yield(result, nil) {
				return
			}
		}
	}
}

func (w *world) DeadLetters(context.Context, string, string, uint64) iter.Seq2[client.DeadLetter, error] {
	return func(yield func(client.DeadLetter, error) bool) {
		for id, code := range w.letters {
			if !yield(client.DeadLetter{DeadLetter: events.DeadLetter{CustomID: id, Code: code, Message: "why"}}, nil) {
				return
			}
		}
	}
}

func (w *world) Get(_ context.Context, key string) ([]byte, bool, error) {
	value, found := w.receipts[key]
	return value, found, nil
}

func (w *world) Once(_ context.Context, key string, value []byte) ([]byte, error) {
	if stands, found := w.receipts[key]; found {
		return stands, nil
	}
	w.receipts[key] = value
	return value, nil
}

// receipt is a row's receipt of a stage.
func (w *world) receipt(t *testing.T, stage int, id string) flow.RowReceipt {
	t.Helper()
	var r flow.RowReceipt
	if err := json.Unmarshal(w.receipts[fmt.Sprintf("default.w.row.%d.%s", stage, id)], &r); err != nil {
		t.Fatalf("receipt of %s in stage %d: %v", id, stage, err)
	}
	return r
}

func customID(line []byte) string {
	var row struct {
		CustomID string `json:"custom_id"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		panic(err)
	}
	return row.CustomID
}

// row is a chat row.
func row(id, text string) string {
	return `{"custom_id":"` + id + `","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"` + text + `"}]}}`
}

func succeeded(reason, message string) client.Result {
	return client.Result{Result: events.Result{
		Outcome: events.Succeeded, Response: json.RawMessage(`{"choices":[{"finish_reason":"` + reason + `","message":` + message + `}]}`),
		Usage: &events.Usage{TotalTokens: 10},
	}}
}

func words(text string) client.Result {
	return succeeded("stop", `{"role":"assistant","content":"`+text+`"}`)
}

// calls is an answer that calls a function so many times.
func calls(n int, name, arguments string) client.Result {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"id":"c%d","type":"function","function":{"name":%q,"arguments":%q}}`, i, name, arguments)
	}
	return succeeded("tool_calls", `{"role":"assistant","content":null,"tool_calls":[`+strings.Join(all, ",")+`]}`)
}

// registry has the functions echo, long (its result is 100 bytes), bad (it fails) and slow (it never ends by itself).
func registry(t *testing.T) *tools.Registry {
	t.Helper()
	function := func(name string, call func(context.Context, []byte) (string, error)) tools.Function {
		return tools.Function{Name: name, Parameters: "{}", Call: call}
	}
	r, err := tools.New(tools.Limits{Timeout: 50 * time.Millisecond, ResultBytes: 1000},
		function("echo", func(_ context.Context, arguments []byte) (string, error) { return string(arguments), nil }),
		function("long", func(context.Context, []byte) (string, error) { return strings.Repeat("x", 100), nil }),
		function("bad", func(context.Context, []byte) (string, error) { return "", errors.New("no disk") }),
		function("slow", func(ctx context.Context, _ []byte) (string, error) { <-ctx.Done(); return "", ctx.Err() }))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lead loads the rows and leads them through the workflow w.
func lead(t *testing.T, w *world, caps flow.Caps, lines ...string) ([]*flow.Thread, error) {
	t.Helper()
	r := registry(t)
	threads, err := flow.Load(strings.NewReader(strings.Join(lines, "\n")), r.Definitions(), caps)
	if err != nil {
		t.Fatal(err)
	}
	return threads, flow.Run(t.Context(), flow.Config{
		Bus: w, Receipts: w, Tools: r, Queue: "default", Job: "w", Caps: caps, Say: func(string) {},
	}, threads)
}

// report is what WriteLines writes.
func report(t *testing.T, threads []*flow.Thread) string {
	t.Helper()
	var out bytes.Buffer
	if err := flow.WriteLines(&out, threads); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
