package simulator

import (
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Transport answers requests by calling a handler in this process, with no socket: what a client needs inside a
// testing/synctest bubble. Bodies stream in both directions. A handler that aborts is a dropped connection: an error
// before the header, a broken body after it. Close every response body; its handler blocks until then.
type Transport struct{ Handler http.Handler }

// RoundTrip runs the handler in a goroutine that ends with the handler, and returns when the header is written.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, out := io.Pipe()
	w := &pipeWriter{header: http.Header{}, out: out, started: make(chan struct{})}
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	go w.serve(t.Handler, in)
	select {
	case <-w.started:
	case <-r.Context().Done():
		_ = body.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
	if w.status == 0 {
		return nil, fmt.Errorf("round trip: %w", io.ErrUnexpectedEOF)
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

// pipeWriter is a ResponseWriter over a pipe.
type pipeWriter struct {
	header  http.Header
	sent    http.Header
	status  int
	out     *io.PipeWriter
	once    sync.Once
	started chan struct{} // closed when status and sent are final
}

func (w *pipeWriter) serve(h http.Handler, r *http.Request) {
	defer func() {
		_ = r.Body.Close()
		if p := recover(); p != nil {
			w.once.Do(func() { close(w.started) })
			_ = w.out.CloseWithError(io.ErrUnexpectedEOF)
			if p != http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
				panic(p)
			}
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = w.out.Close()
	}()
	h.ServeHTTP(w, r)
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if len(p) == 0 {
		return 0, nil
	}
	return w.out.Write(p) //nolint:wrapcheck // it stands for the pipe it wraps
}
