package gateway

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// deliver answers the caller with the row's result.
func (x *exchange) deliver(r *events.Result) {
	if !x.out.begun {
		h := x.out.w.Header()
		h.Set(headerOutcome, string(r.Outcome))
		h.Set("X-Batchbus-Batch", r.Batch)
		h.Set("X-Batchbus-Attempt", strconv.Itoa(r.Attempt))
		h.Set("X-Should-Retry", "false") // it is final
	}
	switch {
	case r.Outcome != events.Succeeded:
		x.out.fault(failureOf(r))
	case x.q.streams:
		x.stream(r.Response)
	default:
		x.out.json(max(r.StatusCode, http.StatusOK), r.Response)
	}
	x.s.cfg.Metrics.waited(time.Since(x.c.OpenedAt))
	x.answered(false)
}

// answered notes that the caller has its answer, or a handle. If the note is lost, an equal call later is taken for a repetition of this one.
func (x *exchange) answered(handle bool) {
	if x.out.err != nil || x.r.Context().Err() != nil || x.c.AnsweredAt != nil {
		return
	}
	now := time.Now().UTC()
	noted := *x.c
	noted.AnsweredAt, noted.Handle = &now, handle
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.r.Context()), x.s.cfg.PublishTimeout)
	defer cancel()
	if err := x.s.put(ctx, &noted); err != nil {
		x.s.log.Debug().Err(err).Str("custom_id", x.c.id).Msg("call is not noted as answered")
		return
	}
	*x.c = noted
}

// hand answers with a handle in place of the result.
func (x *exchange) hand() *fault {
	if x.out.begun {
		return unavailable("the result takes longer than the call wants to wait; sending the same call again attaches to this one")
	}
	h := x.out.w.Header()
	h.Set("Location", callsPath+x.c.id)
	h.Set("Preference-Applied", "respond-async")
	h.Set("Retry-After", strconv.Itoa(int(handlePause/time.Second)))
	x.out.json(http.StatusAccepted, handleOf(x.c))
	x.answered(true)
	return nil
}

// handlePause is when whoever has a handle may ask again.
const handlePause = 15 * time.Second

// refusalOf is the answer for a row that ended as a dead letter.
func refusalOf(m *jetstore.Message) *fault {
	code := m.Header.Get(events.HeaderCode)
	f := &fault{status: http.StatusServiceUnavailable, code: code, final: true, message: "the row was refused and nothing was paid: " + code}
	if letter, err := events.ParseDeadLetter(m.Data); err == nil {
		f.message += ": " + letter.Message
	}
	return f
}

// failureOf is the answer for a row that has no model's.
func failureOf(r *events.Result) *fault {
	f := &fault{status: http.StatusBadGateway, code: string(r.Outcome), message: "the row ended as " + string(r.Outcome), final: true}
	if e := r.Error; e != nil {
		f.code, f.message = e.Code, e.Message
		if e.Hint != "" {
			f.message += "; " + e.Hint
		}
		if status := max(e.StatusCode, r.StatusCode); status >= http.StatusBadRequest && status < 600 {
			f.status = status
		}
		if o, err := readObject([]byte(e.Raw)); err == nil && o.value("error") != nil {
			f.raw = []byte(e.Raw)
		}
	}
	switch {
	case r.Outcome == events.Rejected && f.status == http.StatusBadGateway:
		f.status = http.StatusBadRequest
	case r.Outcome == events.Expired:
		f.status = http.StatusGatewayTimeout
	case r.Outcome == events.Cancelled:
		f.status = http.StatusConflict
	}
	return f
}
