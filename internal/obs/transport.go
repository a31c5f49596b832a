package obs

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Transport counts and times the provider's answers to what next sends. It changes nothing and repeats nothing.
func (m *Metrics) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{metrics: m, next: next}
}

type transport struct {
	metrics *Metrics
	next    http.RoundTripper
}

// RoundTrip is one call.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	route, begin := Route(r.Method, r.URL.Path), time.Now()
	response, err := t.next.RoundTrip(r)
	status := "error"
	if err == nil {
		status = strconv.Itoa(response.StatusCode)
	}
	t.metrics.requests.WithLabelValues(route, status).Inc()
	t.metrics.seconds.WithLabelValues(route).Observe(time.Since(begin).Seconds())
	return response, err //nolint:wrapcheck // a round tripper hands on what it got
}

// CloseIdleConnections closes those of the transport below.
func (t *transport) CloseIdleConnections() {
	if closer, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// Route is the pattern of a call, such as "GET /files/{id}/content", whatever the ids and the base path are. There are few of them, and
// "other" for all else.
func Route(method, path string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodDelete:
	default:
		return "other"
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range slices.Backward(parts) {
		if part == "files" || part == "batches" {
			if pattern, ok := patternOf(parts[i:]); ok {
				return method + " " + pattern
			}
		}
	}
	return "other"
}

// patternOf knows the collections, what is in them, and what can be asked of that.
func patternOf(parts []string) (string, bool) {
	switch len(parts) {
	case 1:
		return "/" + parts[0], true
	case 2:
		return "/" + parts[0] + "/{id}", true
	case 3:
		switch parts[2] {
		case "content", "cancel", "results":
			return "/" + parts[0] + "/{id}/" + parts[2], true
		}
	}
	return "", false
}
