package timewarp_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// errGone is what a caller meets whose provider is away.
var errGone = errors.New("connect: connection refused")

// way is the way to the provider, which can be cut.
type way struct {
	provider http.RoundTripper
	cut      chan struct{} // closed when the way was cut

	mu     sync.Mutex
	at     string // the call that cuts it, such as "POST /v1/batches"; empty: none
	before bool   // the call itself does not reach the provider any more
	gone   bool
	tries  int // calls while it is cut
}

func newWay(sim *simulator.Simulator) *way {
	return &way{provider: simulator.Transport{Handler: sim}, cut: make(chan struct{})}
}

// cutAt makes the next call whose method and path begin so the last one: with before, it does not arrive, else its answer gets lost.
func (w *way) cutAt(call string, before bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.before = call, before
}

// mend lets everything through again, and returns how many calls met nobody.
func (w *way) mend() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = false
	return w.tries
}

// RoundTrip is one call.
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	last, gone := w.judge(r)
	if gone {
		return nil, refused(r)
	}
	response, err := w.provider.RoundTrip(r)
	if !last || err != nil {
		return response, err
	}
	if !strings.HasSuffix(r.URL.Path, "/content") {
		_ = response.Body.Close() // what nobody reads
		return nil, io.ErrUnexpectedEOF
	}
	response.Body = struct { // half of a file arrives
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(response.Body, 2000), broken{}), response.Body}
	return response, nil
}

// judge tells whether the call is the last one whose answer is still on its way, or comes too late.
func (w *way) judge(r *http.Request) (last, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		w.tries++
		return false, true
	}
	if w.at == "" || !strings.HasPrefix(r.Method+" "+r.URL.Path, w.at) {
		return false, false
	}
	w.at, w.gone = "", true
	close(w.cut)
	return !w.before, w.before
}

// refused reads nothing of the call, as a transport without a connection.
func refused(r *http.Request) error {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return errGone
}

// broken is the end of a connection.
type broken struct{}

// Read implements io.Reader.
func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
