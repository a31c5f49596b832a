package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// callsPath is where results are fetched by handle.
const callsPath = "/v1/batchbus/calls/"

// fetch answers with the result of an earlier call of the same caller, or again with its handle.
func (x *exchange) fetch(string) *fault {
	who, f := x.s.authenticate(x.r)
	if f != nil {
		return f
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), x.s.cfg.PublishTimeout)
	defer cancel()
	unknown := &fault{status: http.StatusNotFound, code: "unknown_call", final: true, message: "there is no such call of this caller"}
	id := x.r.PathValue("id")
	if !events.IsToken(id) {
		return unknown
	}
	c, err := x.s.get(ctx, "*", id)
	switch {
	case errors.Is(err, jetstore.ErrNotFound), err == nil && c.Caller != who.id:
		return unknown
	case err != nil:
		x.s.log.Warn().Err(err).Msg("call is not read")
		return unavailable("the bus does not answer now")
	}
	x.c, x.out.url = c, c.URL
	x.q = &request{who: who, url: c.URL, keepAlive: x.r.Header.Get(headerKeepAlive) != ""}
	if _, wait := preferences(x.r.Header); wait > 0 {
		x.q.patience = wait
	}
	x.out.keepAlive = x.q.keepAlive
	x.out.about(c, true)
	x.s.peers.enter(c.id)
	defer x.s.peers.leave(c.id)
	return x.settle(false)
}
