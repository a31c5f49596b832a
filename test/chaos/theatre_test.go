package chaos_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// theatre stands between the services and the simulator and plays what a scenario wants of the provider, where the simulator's own faults do not
// reach: the test can begin and end a role when it likes.
type theatre struct {
	server *httptest.Server
	mu     sync.Mutex
	roles  []*role
}

// role is one thing that goes otherwise than the simulator would have it.
type role struct {
	name  string
	calls *regexp.Regexp // method and path that it is for
	times int            // how often; negative: until it is ended
	play  act
	done  int
}

// act answers a call; pass is the simulator's answer, which is asked for when act calls it.
type act func(w http.ResponseWriter, r *http.Request, pass func() *httptest.ResponseRecorder)

// newTheatre plays in front of the simulator at the URL.
func newTheatre(t testing.TB, behind string, roles []role) *theatre {
	t.Helper()
	target, err := url.Parse(behind)
	if err != nil {
		t.Fatal(err)
	}
	s := &theatre{}
	for i := range roles {
		s.roles = append(s.roles, &roles[i])
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // the provider dropped the call, or the caller is gone
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Expect") // a 100 on the way would be taken for the answer's status
		if play := s.cast(r); play != nil {
			play(w, r, func() *httptest.ResponseRecorder {
				recorded := httptest.NewRecorder()
				proxy.ServeHTTP(recorded, r)
				return recorded
			})
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	return s
}

// cast is the first role for a call, nil when none is.
func (s *theatre) cast(r *http.Request) act {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, role := range s.roles {
		if role.times != 0 && role.calls.MatchString(r.Method+" "+r.URL.Path) {
			role.times--
			role.done++
			return role.play
		}
	}
	return nil
}

// end ends roles by name.
func (s *theatre) end(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, role := range s.roles {
		if role.name == name {
			role.times = 0
		}
	}
}

// begin adds a role, before those that are there.
func (s *theatre) begin(r role) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roles = append([]*role{&r}, s.roles...)
}

// played is how often a role was.
func (s *theatre) played(name string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, role := range s.roles {
		if role.name == name {
			n += role.done
		}
	}
	return n
}

// The calls that roles are for.
var (
	callUpload  = regexp.MustCompile(`^POST /v1/files$`)
	callDelete  = regexp.MustCompile(`^DELETE /v1/files/`)
	callContent = regexp.MustCompile(`^GET /v1/files/.+/content$`)
	callRead    = regexp.MustCompile(`^GET /v1/(files/.+/content|batches/.+/results)$`)
	callCreate  = regexp.MustCompile(`^POST /v1/batches$`)
	callList    = regexp.MustCompile(`^GET /v1/batches$`)
	callBatch   = regexp.MustCompile(`^GET /v1/batches/[^/]+$`)
	callBatches = regexp.MustCompile(`^GET /v1/batches(/[^/]+)?$`)
)

// refuse answers for the provider, which never hears of the call.
func refuse(status int, text string) act {
	return func(w http.ResponseWriter, r *http.Request, _ func() *httptest.ResponseRecorder) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// swallow lets the provider act and drops its answer.
func swallow(_ http.ResponseWriter, _ *http.Request, pass func() *httptest.ResponseRecorder) {
	pass()
	panic(http.ErrAbortHandler)
}

// nobody is an empty list, as of a replica that lags.
func nobody(w http.ResponseWriter, _ *http.Request, _ func() *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`)
}

// edited changes the body of the provider's answer.
func edited(edit func(body []byte) []byte) act {
	return func(w http.ResponseWriter, _ *http.Request, pass func() *httptest.ResponseRecorder) {
		got := pass()
		body := got.Body.Bytes()
		if got.Code == http.StatusOK {
			body = edit(body)
		}
		maps.Copy(w.Header(), got.Header())
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(got.Code)
		_, _ = w.Write(body)
	}
}

// withoutLine drops the lines that hold a text.
func withoutLine(text string) func([]byte) []byte {
	return func(body []byte) (left []byte) {
		for line := range bytes.Lines(body) {
			if !bytes.Contains(line, []byte(text)) {
				left = append(left, line...)
			}
		}
		return left
	}
}
