package doubleword_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

const fullBatch = `{"id":"batch_1","object":"batch","endpoint":"/v1/chat/completions","completion_window":"24h","status":"in_progress",
 "input_file_id":"","output_file_id":"file-2","error_file_id":null,"created_at":1703187200,"expires_at":"2023-12-22T19:33:20Z",
 "in_progress_at":"1703187201","finalizing_at":null,"completed_at":0,"failed_at":"soon","cancelled_at":1703187202.5,
 "request_counts":{"total":5,"completed":"3","failed":1},"metadata":{"a":"b","n":7,"none":null},"new_thing":[1],
 "errors":{"data":[{"code":null,"line":4,"message":"bad"},{"message":"worse","param":"x"}]}}`

func TestABatchIsReadLiberally(t *testing.T) {
	t.Parallel()
	client := newClient(t, newServer(t, answer(203, "application/json", fullBatch)), nil)
	got, err := client.Batch(t.Context(), "batch_1")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	want := doubleword.Batch{
		ID: "batch_1", Status: "in_progress", Endpoint: "/v1/chat/completions", CompletionWindow: "24h", OutputFileID: "file-2",
		CreatedAt: at(1703187200), ExpiresAt: at(1703273600), InProgressAt: at(1703187201), CancelledAt: at(1703187202).Add(500 * time.Millisecond),
		Counts:   doubleword.Counts{Total: 5, Completed: 3, Failed: 1},
		Metadata: map[string]string{"a": "b", "n": "7", "none": ""},
		Errors:   []doubleword.BatchError{{Message: "bad", Line: 4}, {Message: "worse"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestOddFieldsDoNotHideABatch(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"id":"b","request_counts":null,"metadata":null,"errors":null}`,
		`{"id":"b","metadata":[1],"errors":"boom","created_at":{},"status":null}`,
		`{"id":"b","errors":[{"message":"m"}],"request_counts":{"total":null}}`,
	} {
		client := newClient(t, newServer(t, answer(200, "application/json", body)), nil)
		if b, err := client.Batch(t.Context(), "b"); err != nil || b.ID != "b" || !b.Alive() {
			t.Errorf("%s: %+v, %v", body, b, err)
		}
	}
}

func TestCreateBatchSendsOneBareRequest(t *testing.T) {
	t.Parallel()
	type seen struct {
		method, path string
		header       http.Header
		body         string
	}
	requests := make(chan seen, 1)
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- seen{r.Method, r.URL.Path, r.Header, string(body)}
		answer(201, "application/json", `{"id":"b","status":"validating"}`)(w, r)
	})
	b, err := newClient(t, server, nil).CreateBatch(t.Context(), doubleword.NewBatch{
		InputFileID: "f", Endpoint: "/v1/embeddings", CompletionWindow: "1h", Metadata: map[string]string{"batchbus": "x/y/"},
	})
	if err != nil || b.ID != "b" {
		t.Fatalf("%+v, %v", b, err)
	}
	got := <-requests
	var sent map[string]any
	if err := json.Unmarshal([]byte(got.body), &sent); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"input_file_id": "f", "endpoint": "/v1/embeddings", "completion_window": "1h", "metadata": map[string]any{"batchbus": "x/y/"},
	}
	if got.method != "POST" || got.path != "/v1/batches" || !reflect.DeepEqual(sent, want) {
		t.Errorf("got %+v", got)
	}
	if got.header.Get("Content-Type") != "application/json" || got.header.Get("Idempotency-Key") != "" || got.header.Get("X-Idempotency-Key") != "" {
		t.Errorf("headers %v", got.header)
	}
}

func TestCreateBatchIsOneAttemptWhateverHappens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    doubleword.Class
	}{
		{"a timeout", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() }, doubleword.Ambiguous},
		{"a lost connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, doubleword.Ambiguous},
		{"an answer cut short", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"id":`))
		}, doubleword.Ambiguous},
		{"a 500", answer(500, "", "Internal server error"), doubleword.Ambiguous},
		{"an edge's 502", answer(502, "text/html", "<html>"), doubleword.Ambiguous},
		{"a 503", answer(503, "", ""), doubleword.Ambiguous},
		{"a 404, which storage errors are mapped to", answer(404, "", ""), doubleword.Ambiguous},
		{"a 408", answer(408, "", ""), doubleword.Ambiguous},
		{"a 429", answer(429, "", ""), doubleword.Retryable},
		{"a 400", answer(400, "", ""), doubleword.Permanent},
		{"a 401", answer(401, "", ""), doubleword.Permanent},
		{"a 402", answer(402, "", ""), doubleword.Permanent},
		{"a 422", answer(422, "", ""), doubleword.Permanent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			handler, n := counted(c.handler)
			server := newServer(t, handler)
			client := newClient(t, server, func(config *doubleword.Config) {
				config.CallTimeout, config.CreateTimeout, config.RetryTimeout = 300*time.Millisecond, 300*time.Millisecond, 30*time.Second
			})
			// A connection used before is the one on which net/http would send again.
			_, _ = client.CancelBatch(t.Context(), "warm")
			before := n.Load()
			_, err := client.CreateBatch(t.Context(), doubleword.NewBatch{InputFileID: "f"})
			if doubleword.ClassOf(err) != c.want || n.Load()-before != 1 {
				t.Errorf("class %s after %d requests: %v", doubleword.ClassOf(err), n.Load()-before, err)
			}
		})
	}
}

// replay counts the attempts of a transport that obeys net/http's rules for sending again.
type replay struct{ bodies, idempotent atomic.Int32 }

func (r *replay) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.GetBody != nil || req.Body == nil {
		r.bodies.Add(1)
	}
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if _, ok := req.Header[name]; ok {
			r.idempotent.Add(1)
		}
	}
	return nil, &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
}

func TestCreateBatchGivesNoTransportTheMeansToSendAgain(t *testing.T) {
	t.Parallel()
	var r replay
	client, err := doubleword.New(doubleword.Config{Key: doubleword.NewSecret(testKey), Transport: &r})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CreateBatch(t.Context(), doubleword.NewBatch{InputFileID: "f"})
	if doubleword.ClassOf(err) != doubleword.Ambiguous || r.bodies.Load() != 0 || r.idempotent.Load() != 0 {
		t.Errorf("%v: %d bodies, %d keys", err, r.bodies.Load(), r.idempotent.Load())
	}
}

func TestCreateBatchThatSentNothingIsNotDone(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(200, "", ""))
	client := newClient(t, server, nil)
	server.Close()
	if _, err := client.CreateBatch(t.Context(), doubleword.NewBatch{}); doubleword.ClassOf(err) != doubleword.Retryable {
		t.Errorf("connection refused: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	handler, n := counted(answer(201, "", `{"id":"b"}`))
	_, err := newClient(t, newServer(t, handler), nil).CreateBatch(ctx, doubleword.NewBatch{})
	if doubleword.ClassOf(err) != doubleword.Retryable || !errors.Is(err, context.Canceled) || n.Load() != 0 {
		t.Errorf("cancelled before: %v, %d requests", err, n.Load())
	}
}

func TestCreateBatchCancelledOnItsWayIsAmbiguous(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	_, err := newClient(t, server, nil).CreateBatch(ctx, doubleword.NewBatch{})
	if doubleword.ClassOf(err) != doubleword.Ambiguous || !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestCancelBatchPostsToTheBatch(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/batches/b/cancel" {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		answer(200, "application/json", `{"id":"b","status":"cancelled"}`)(w, r)
	})
	if b, err := newClient(t, server, nil).CancelBatch(t.Context(), "b"); err != nil || b.Status != "cancelled" {
		t.Errorf("%+v, %v", b, err)
	}
}
