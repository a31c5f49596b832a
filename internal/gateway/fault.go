package gateway

import (
	"net/http"
	"strconv"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// fault is an answer that no model gave.
type fault struct {
	status        int
	code, message string
	param         string
	retryAfter    time.Duration
	final         bool   // sending the same again changes nothing
	raw           []byte // the provider's own error, in place of ours
}

// kind is OpenAI's type of an error.
func (f *fault) kind() string {
	switch {
	case f.status == http.StatusUnauthorized:
		return "authentication_error"
	case f.status == http.StatusForbidden:
		return "permission_error"
	case f.status == http.StatusNotFound:
		return "not_found_error"
	case f.status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case f.status == http.StatusPaymentRequired:
		return "insufficient_quota"
	case f.status >= 500:
		return "server_error"
	default:
		return "invalid_request_error"
	}
}

// body is {"error":{"message","type","param","code"}}, for Anthropic's programs with a type beside it.
func (f *fault) body(url string) []byte {
	if f.raw != nil {
		return f.raw
	}
	out := []byte(`{`)
	if url == urlMessages {
		out = append(out, `"type":"error",`...)
	}
	out = events.AppendString(append(out, `"error":{"message":`...), f.message)
	out = events.AppendString(append(out, `,"type":`...), f.kind())
	out = append(out, `,"param":`...)
	if f.param == "" {
		out = append(out, "null"...)
	} else {
		out = events.AppendString(out, f.param)
	}
	return append(events.AppendString(append(out, `,"code":`...), f.code), `}}`...)
}

// head sets the headers that say what a program does next. OpenAI's and Anthropic's SDKs obey x-should-retry.
func (f *fault) head(h http.Header) {
	h.Set("X-Should-Retry", strconv.FormatBool(!f.final && f.retryAfter > 0))
	if f.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(f.retryAfter/time.Second))))
	}
}

// retryPause is when to come again after what passes by itself.
const retryPause = 2 * time.Second

func unavailable(message string) *fault {
	return &fault{status: http.StatusServiceUnavailable, code: "unavailable", message: message, retryAfter: retryPause}
}

func refused(code, message string) *fault {
	return &fault{status: http.StatusBadRequest, code: code, message: message, final: true}
}
