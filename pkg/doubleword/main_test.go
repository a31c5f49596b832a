package doubleword_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

const testKey = "sk-planted-0123456789abcdef"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer serves handler until the test ends.
func newServer(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// newClient returns a client of server that does not repeat calls, unless change says so.
func newClient(t *testing.T, server *httptest.Server, change func(*doubleword.Config)) *doubleword.Client {
	t.Helper()
	config := doubleword.Config{
		BaseURL: server.URL + "/v1", Key: doubleword.NewSecret(testKey),
		CallTimeout: 10 * time.Second, CreateTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second, RetryTimeout: -1,
	}
	if change != nil {
		change(&config)
	}
	client, err := doubleword.New(config)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// answer is a handler with one fixed answer.
func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// counted counts the requests that reach handler.
func counted(handler http.HandlerFunc) (http.HandlerFunc, *atomic.Int32) {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		handler(w, r)
	}, &n
}

// asError fails the test unless err is an *Error.
func asError(t *testing.T, err error) *doubleword.Error {
	t.Helper()
	var e *doubleword.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %T %v, want *doubleword.Error", err, err)
	}
	return e
}
