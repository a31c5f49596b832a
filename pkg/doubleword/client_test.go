package doubleword_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

func TestRedirectsNeverCarryTheKey(t *testing.T) {
	t.Parallel()
	stolen := make(chan string, 10)
	other := newServer(t, func(_ http.ResponseWriter, r *http.Request) { stolen <- r.Header.Get("Authorization") })
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other.URL+r.URL.Path)
			w.WriteHeader(status)
		})
		client := newClient(t, server, nil)
		_, get := client.Batch(t.Context(), "b")
		_, post := client.CreateBatch(t.Context(), doubleword.NewBatch{})
		_, open := client.Content(t.Context(), "f", doubleword.ContentQuery{})
		for _, err := range []error{get, post, open} {
			if e := asError(t, err); e.Status != status || !strings.Contains(err.Error(), "redirect to") {
				t.Errorf("status %d: %v", status, err)
			}
		}
		if doubleword.ClassOf(post) != doubleword.Ambiguous || doubleword.ClassOf(get) != doubleword.Permanent {
			t.Errorf("classes %s, %s", doubleword.ClassOf(post), doubleword.ClassOf(get))
		}
	}
	select {
	case key := <-stolen:
		t.Errorf("redirect was followed with %q", key)
	default:
	}
}

func TestEveryRequestSaysWhoAsks(t *testing.T) {
	t.Parallel()
	headers := make(chan http.Header, 1)
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		answer(200, "application/json", `{"id":"b"}`)(w, r)
	})
	client := newClient(t, server, func(c *doubleword.Config) { c.OrganizationID, c.UserAgent = "org-1", "me/1" })
	if _, err := client.Batch(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	h := <-headers
	for name, want := range map[string]string{
		"Authorization": "Bearer " + testKey, "X-Organization-Id": "org-1", "User-Agent": "me/1", "Accept-Encoding": "identity",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestAnErrorNeverShowsTheKeyTheServerEchoes(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"whole":            "bad key " + testKey + " and again " + testKey,
		"across the cut":   strings.Repeat("x", 1020) + testKey,
		"many":             strings.Repeat(testKey, 4000),
		"cut by the limit": strings.Repeat(testKey+" ", 2427) + strings.Repeat(testKey, 1000),
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "https://example.com/"+testKey)
				answer(302, "text/"+testKey, body)(w, r)
			})
			_, err := newClient(t, server, nil).Batch(t.Context(), "b")
			e := asError(t, err)
			shown := fmt.Sprintf("%v %+v %s %s", err, *e, e.Text, e.ContentType)
			if strings.Contains(shown, testKey) || strings.Contains(shown, testKey[:12]) {
				t.Errorf("shows the key: %s", shown)
			}
			if !strings.Contains(shown, "[redacted]") {
				t.Errorf("shows no redaction: %s", shown)
			}
		})
	}
}

func TestABrokenAnswerThatEchoesTheKeyIsRedacted(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte("HTTP/1.1 " + testKey + "\r\n\r\n"))
		_ = conn.Close()
	})
	_, err := newClient(t, server, nil).Batch(t.Context(), "b")
	if err == nil || strings.Contains(err.Error(), testKey) || !strings.Contains(err.Error(), "[redacted]") {
		t.Errorf("error = %v", err)
	}
}

func TestErrorsKeepWhatTheAnswerSaid(t *testing.T) {
	t.Parallel()
	in30s := time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		name, header, contentType, body string
		status                          int
		class                           doubleword.Class
		after                           time.Duration
		text                            string
	}{
		{"a plain text refusal", "", "text/plain", "malformed id", 400, doubleword.Permanent, 0, "malformed id"},
		{"an HTML page of the edge", "", "text/html", "<html>Bad Gateway</html>", 502, doubleword.Retryable, 0, "<html>Bad"},
		{"an empty answer", "", "", "", 504, doubleword.Retryable, 0, ""},
		{"header longer than body", "60", "application/json", `{"retry_after_seconds":30}`, 429, doubleword.Retryable, 60 * time.Second, `{"retry`},
		{"body longer than header", "5", "application/json", `{"retry_after_seconds":"30"}`, 503, doubleword.Retryable, 30 * time.Second, ""},
		{"a date", in30s, "", "", 503, doubleword.Retryable, -30 * time.Second, ""},
		{"nonsense is no wait", "soon", "", `{"retry_after_seconds":`, 503, doubleword.Retryable, 0, ""},
		{"a negative wait is none", "-5", "", "", 503, doubleword.Retryable, 0, ""},
		{"gone is gone", "", "", "", 410, doubleword.Permanent, 0, ""},
		{"request timeout", "", "", "", 408, doubleword.Retryable, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				answer(c.status, c.contentType, c.body)(w, r)
			})
			_, err := newClient(t, server, nil).Batch(t.Context(), "b")
			e := asError(t, err)
			if e.Status != c.status || e.Class != c.class || !strings.HasPrefix(e.Text, c.text) || e.Route != "GET /batches/{id}" {
				t.Errorf("got %+v", *e)
			}
			if c.contentType != "" && e.ContentType != c.contentType {
				t.Errorf("content type %q", e.ContentType)
			}
			// A date is exact to a second only, less what the test took.
			if late := -c.after - e.RetryAfter; c.after < 0 && (late < 0 || late > 20*time.Second) || c.after >= 0 && e.RetryAfter != c.after {
				t.Errorf("RetryAfter = %s, want %s", e.RetryAfter, c.after)
			}
		})
	}
}

func TestErrorTextIsShortAndValidUTF8(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(500, "text/plain", "x"+strings.Repeat("é", 2000)+"\xff"))
	_, err := newClient(t, server, nil).Batch(t.Context(), "b")
	e := asError(t, err)
	if len(e.Text) > 1024 || len(e.Text) < 1020 || !utf8.ValidString(e.Text) || !utf8.ValidString(err.Error()) {
		t.Errorf("text of %d bytes", len(e.Text))
	}
}

func TestASuccessThatIsNoJSONIsAnError(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"<html>login</html>", "", `{"id":""}`, `{"id":null}`, `[]`, `{"id":"b"`, `{"id":"b","x":"` + strings.Repeat("x", 17<<20) + `"}`} {
		server := newServer(t, answer(200, "text/html", body))
		client := newClient(t, server, nil)
		_, get := client.Batch(t.Context(), "b")
		_, post := client.CreateBatch(t.Context(), doubleword.NewBatch{})
		if !errors.Is(get, doubleword.ErrBadAnswer) || doubleword.ClassOf(get) != doubleword.Retryable {
			t.Errorf("%.20q: get: %v", body, get)
		}
		if !errors.Is(post, doubleword.ErrBadAnswer) || doubleword.ClassOf(post) != doubleword.Ambiguous {
			t.Errorf("%.20q: post: %v", body, post)
		}
	}
}

func TestAnEmptyIDIsNeverSent(t *testing.T) {
	t.Parallel()
	handler, requests := counted(answer(200, "", ""))
	client := newClient(t, newServer(t, handler), nil)
	for _, id := range []string{"", ".", ".."} {
		_, content := client.Content(t.Context(), id, doubleword.ContentQuery{})
		_, batch := client.Batch(t.Context(), id)
		_, cancel := client.CancelBatch(t.Context(), id)
		_, del := client.DeleteFile(t.Context(), id)
		for _, err := range []error{content, batch, cancel, del} {
			if !errors.Is(err, doubleword.ErrBadID) {
				t.Errorf("id %q: %v", id, err)
			}
		}
	}
	if requests.Load() != 0 {
		t.Errorf("%d requests", requests.Load())
	}
}

func TestAnIDStaysOnePathSegment(t *testing.T) {
	t.Parallel()
	paths := make(chan string, 1)
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.EscapedPath()
		answer(200, "application/json", `{"id":"x"}`)(w, r)
	})
	if _, err := newClient(t, server, nil).Batch(t.Context(), "../files/a?b#c"); err != nil {
		t.Fatal(err)
	}
	if got := <-paths; got != "/v1/batches/..%2Ffiles%2Fa%3Fb%23c" {
		t.Errorf("path %s", got)
	}
}

func TestSafeCallsAreRepeatedForAWhile(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) {
		case 1:
			answer(503, "text/html", "<html>")(w, r)
		case 2:
			panic(http.ErrAbortHandler)
		default:
			answer(200, "application/json", `{"id":"b","status":"in_progress"}`)(w, r)
		}
	})
	client := newClient(t, server, func(c *doubleword.Config) { c.RetryTimeout = 30 * time.Second })
	b, err := client.Batch(t.Context(), "b")
	if err != nil || b.ID != "b" || n.Load() != 3 {
		t.Errorf("batch %+v, error %v after %d requests", b, err, n.Load())
	}
}

func TestWhatIsNotWorthRepeatingIsNotRepeated(t *testing.T) {
	t.Parallel()
	longWait := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3600")
		answer(429, "", "")(w, r)
	}
	for name, handler := range map[string]http.HandlerFunc{
		"a permanent refusal":                  answer(404, "", ""),
		"a wait longer than the retry timeout": longWait,
	} {
		handler, n := counted(handler)
		client := newClient(t, newServer(t, handler), func(c *doubleword.Config) { c.RetryTimeout = 30 * time.Second })
		if _, err := client.Batch(t.Context(), "b"); err == nil || n.Load() != 1 {
			t.Errorf("%s: error %v after %d requests", name, err, n.Load())
		}
	}
	handler, n := counted(answer(500, "", ""))
	client := newClient(t, newServer(t, handler), func(c *doubleword.Config) { c.RetryTimeout = 30 * time.Second })
	if _, err := client.CancelBatch(t.Context(), "b"); doubleword.ClassOf(err) != doubleword.Retryable || n.Load() != 1 {
		t.Errorf("cancel: error %v after %d requests", err, n.Load())
	}
}

func TestTheProvidersWaitIsKept(t *testing.T) {
	t.Parallel()
	var first atomic.Int64
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(0, time.Now().UnixNano()) {
			answer(503, "application/json", `{"retry_after_seconds":1}`)(w, r)
			return
		}
		if waited := time.Duration(time.Now().UnixNano() - first.Load()); waited < time.Second {
			t.Errorf("waited only %s", waited)
		}
		answer(200, "application/json", `{"id":"b"}`)(w, r)
	})
	client := newClient(t, server, func(c *doubleword.Config) { c.RetryTimeout = 30 * time.Second })
	if _, err := client.Batch(t.Context(), "b"); err != nil {
		t.Error(err)
	}
}

func TestASmallCallHasATotalTimeout(t *testing.T) {
	t.Parallel()
	server := stalled(t, `{"id":`)
	client := newClient(t, server, func(c *doubleword.Config) { c.CallTimeout = 50 * time.Millisecond })
	_, err := client.Batch(t.Context(), "b")
	if !errors.Is(err, doubleword.ErrTimeout) || doubleword.ClassOf(err) != doubleword.Retryable {
		t.Errorf("error = %v", err)
	}
}

// stalled serves the start of a body and then nothing until the client is gone.
func stalled(t *testing.T, start string) *httptest.Server {
	t.Helper()
	return newServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(start))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}
