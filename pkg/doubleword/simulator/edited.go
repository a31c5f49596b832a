package simulator

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// editedReply is a reply that faults change on its way out. JSON is kept back until it is whole; everything else,
// and everything when no fault concerns the call, goes straight through.
type editedReply struct {
	http.ResponseWriter
	edits  []func(body []byte) []byte
	kept   *bytes.Buffer
	status int
}

// edited wraps w for the call.
func (s *Simulator) edited(w http.ResponseWriter, c call) *editedReply {
	out := &editedReply{ResponseWriter: w}
	if f, ok := s.faultAt(FaultUnknownStatus, c); ok {
		out.edits = append(out.edits, statusEdit(cmp.Or(f.Text, "paused")))
	}
	if _, ok := s.faultAt(FaultISOTimes, c); ok {
		out.edits = append(out.edits, isoTimes)
	}
	return out
}

// WriteHeader decides whether the body is one to edit.
func (w *editedReply) WriteHeader(status int) {
	if len(w.edits) > 0 && strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		w.kept, w.status = &bytes.Buffer{}, status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *editedReply) Write(p []byte) (int, error) {
	if w.kept != nil {
		return w.kept.Write(p) //nolint:wrapcheck // a buffer does not fail
	}
	return w.ResponseWriter.Write(p) //nolint:wrapcheck // it stands for the writer it wraps
}

// Unwrap is for [http.ResponseController].
func (w *editedReply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// finish sends what was kept back.
func (w *editedReply) finish() {
	if w.kept == nil {
		return
	}
	body := w.kept.Bytes()
	for _, edit := range w.edits {
		body = edit(body)
	}
	w.ResponseWriter.WriteHeader(w.status)
	_, _ = w.ResponseWriter.Write(body) // the client has gone when this fails
}

// statusEdit replaces every status that is not final. Metadata cannot be meant: its quotes are escaped.
func statusEdit(text string) func(body []byte) []byte {
	pattern := regexp.MustCompile(`"status":"(validating|in_progress|finalizing|cancelling)"`)
	replaced := appendString([]byte(`"status":`), text)
	return func(body []byte) []byte { return pattern.ReplaceAllLiteral(body, replaced) }
}

// isoTimes rewrites the members whose names end in _at.
func isoTimes(body []byte) []byte {
	pattern := regexp.MustCompile(`("[a-z_]+_at":)(\d+)`)
	return pattern.ReplaceAllFunc(body, func(found []byte) []byte {
		name, digits, _ := bytes.Cut(found, []byte(":"))
		seconds, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil {
			return found
		}
		return fmt.Appendf(nil, "%s:%q", name, time.Unix(seconds, 0).UTC().Format(time.RFC3339))
	})
}
