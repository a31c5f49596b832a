package webhook

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

const (
	// maxBody is far above the few hundred bytes that a webhook has.
	maxBody = 64 << 10
	// remembered is how many ids of webhooks are known to have come, and how many hints wait at most. More at once are polled for in their time.
	remembered = 4096
)

// handler answers the provider.
type handler struct {
	verifier *doubleword.WebhookVerifier
	seen     *recent
	hint     func(batchID string)
	refused  func(reason error)
}

// ServeHTTP answers one webhook: see the package's comment.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			status = http.StatusRequestEntityTooLarge
		}
		w.WriteHeader(status)
		return
	}
	hook, err := h.verifier.Verify(r.Header, body, time.Now())
	switch {
	case errors.Is(err, doubleword.ErrWebhookBody): // it is the provider's, and sent again it would be the same
		h.refused(err)
	case err != nil:
		h.refused(err)
		w.WriteHeader(http.StatusUnauthorized)
		return
	case hook.BatchID != "" && h.seen.add(hook.ID):
		h.hint(hook.BatchID)
	}
	w.WriteHeader(http.StatusNoContent)
}
