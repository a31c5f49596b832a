package gateway

import (
	"net/http"
	"strconv"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// answer writes to the caller. Once something was written, the status is said and only the rest can follow.
type answer struct {
	w         http.ResponseWriter
	url       string
	timeout   time.Duration // of one write
	streams   bool          // as events
	keepAlive bool          // spaces before JSON are welcome
	begun     bool
	status    int
	err       error // why the caller did not get all of it
}

// about sets the headers that name the call.
func (a *answer) about(c *call, attached bool) {
	if a.begun {
		return
	}
	h := a.w.Header()
	h.Set(headerQueue, c.Queue)
	h.Set(headerJob, c.Job)
	h.Set(headerCall, c.id)
	h.Set("X-Request-Id", c.id)
	h.Set(headerAttached, strconv.FormatBool(attached))
}

// begin writes the status, once.
func (a *answer) begin(status int, kind string) {
	if a.begun {
		return
	}
	a.begun, a.status = true, status
	a.w.Header().Set("Content-Type", kind)
	a.w.Header().Set("Cache-Control", "no-store")
	a.w.WriteHeader(status)
}

const (
	kindJSON   = "application/json"
	kindEvents = "text/event-stream"
)

// write writes and sends on what it is given.
func (a *answer) write(text []byte) {
	if a.err != nil {
		return
	}
	control := http.NewResponseController(a.w)
	_ = control.SetWriteDeadline(time.Now().Add(a.timeout)) // not every writer can, and then there is none
	if _, a.err = a.w.Write(text); a.err == nil {
		a.err = control.Flush()
	}
	_ = control.SetWriteDeadline(time.Time{})
}

// beat is a sign of life, where the caller can take one: a comment between events, a space before JSON.
func (a *answer) beat() {
	switch {
	case a.streams:
		a.begin(http.StatusOK, kindEvents)
		a.write([]byte(": waiting\n\n"))
	case a.keepAlive:
		a.begin(http.StatusOK, kindJSON)
		a.write([]byte(" "))
	}
}

// json is the whole answer.
func (a *answer) json(status int, body []byte) {
	if !a.begun {
		a.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	a.begin(status, kindJSON)
	a.write(body)
}

// fault is the whole answer, or what comes in place of its rest.
func (a *answer) fault(f *fault) {
	body := f.body(a.url)
	if a.begun && a.streams {
		a.event("error", oneLine(body))
		return
	}
	if !a.begun {
		f.head(a.w.Header())
	}
	a.json(f.status, body)
}

// event is one event of a stream; data is on one line. A name that is empty is left out.
func (a *answer) event(name string, data []byte) {
	a.begin(http.StatusOK, kindEvents)
	var out []byte
	if name != "" {
		out = append(append(append(out, "event: "...), name...), '\n')
	}
	out = append(append(append(out, "data: "...), data...), "\n\n"...)
	a.write(out)
}

// handle is {"id","object","status",…}: where the result will be.
func handleOf(c *call) []byte {
	out := events.AppendString([]byte(`{"id":`), c.id)
	out = append(out, `,"object":"batchbus.call","status":"waiting","created_at":`...)
	out = strconv.AppendInt(out, c.OpenedAt.Unix(), 10)
	out = events.AppendString(append(out, `,"queue":`...), c.Queue)
	out = events.AppendString(append(out, `,"job":`...), c.Job)
	out = events.AppendString(append(out, `,"custom_id":`...), c.id)
	return append(events.AppendString(append(out, `,"location":`...), callsPath+c.id), '}')
}
