package simulator

import (
	"errors"
	"fmt"
	"net/http"
)

// refusal is an error with the status and text that the client gets.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s", r.status, r.text) }

func refuse(status int, format string, args ...any) error {
	return &refusal{status: status, text: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return refuse(http.StatusBadRequest, format, args...)
}

// reply writes the refusal in its shape: JSON with a Retry-After for 429 and 503, HTML for the edge's 502 and 504,
// plain text for the rest (contract, 1.3 and 1.4).
func (r *refusal) reply(w http.ResponseWriter) {
	text, contentType := r.text, "text/plain; charset=utf-8"
	switch r.status {
	case http.StatusTooManyRequests:
		// The header says 60 while the body says 30: so does the source.
		text, contentType = retryJSON("too_many_requests", r.text), "application/json"
		w.Header().Set("Retry-After", "60")
	case http.StatusServiceUnavailable:
		text, contentType = retryJSON("service_unavailable", r.text), "application/json"
		w.Header().Set("Retry-After", "30")
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		contentType = "text/html"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(r.status)
	_, _ = w.Write([]byte(text)) // the client has gone when this fails
}

func retryJSON(code, message string) string {
	out := append([]byte(`{"error":`), '"')
	out = append(append(out, code...), `","message":`...)
	return string(append(appendString(out, message), `,"retry_after_seconds":30}`...))
}

// replyError writes any error; what is no refusal is the provider's generic 500.
func (s *Simulator) replyError(w http.ResponseWriter, err error) {
	var r *refusal
	if !errors.As(err, &r) {
		r = &refusal{status: http.StatusInternalServerError, text: "Internal server error"}
	}
	if s.cfg.Dialect == DialectOpenAI {
		r.replyPlain(w)
		return
	}
	r.reply(w)
}

// standardText is what the provider itself says with a status.
func standardText(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "Authentication required"
	case http.StatusPaymentRequired:
		return "Insufficient balance. Please add credits to continue."
	case http.StatusForbidden:
		return "Insufficient permissions to access this resource"
	case http.StatusNotFound:
		return "Resource not found"
	case http.StatusTooManyRequests:
		return TextUploadSlots
	case http.StatusInternalServerError:
		return "Internal server error"
	case http.StatusServiceUnavailable:
		return "Service temporarily unavailable. Please retry later."
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		name := fmt.Sprintf("%d %s", status, http.StatusText(status))
		return "<html><head><title>" + name + "</title></head><body><center><h1>" + name + "</h1></center></body></html>\n"
	default:
		return http.StatusText(status)
	}
}
