package simulator

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Dialect is whose batch API is spoken.
type Dialect string

// The dialects. What OpenAI's differs in: ids with prefixes and 200 for what was made; errors are
// {"error":{"message","type","param","code"}}; content knows no parameter and has no X- header; a batch names its
// output and error file only when it has ended, and the error file only when there is one; a failed row keeps its
// status_code and body; rows that no model reached within the window end "expired" in the error file, and so does
// their batch; lists cannot be searched; results, analytics, cost estimate, retry and deletion of batches are not there.
const (
	DialectDoubleword Dialect = ""
	DialectOpenAI     Dialect = "openai"
)

func (d Dialect) check() error {
	if d != DialectDoubleword && d != DialectOpenAI {
		return fmt.Errorf("dialect %q: want \"\" or %q", d, DialectOpenAI)
	}
	return nil
}

// lacks tells whether the dialect has no such route.
func (d Dialect) lacks(route string) bool {
	return d == DialectOpenAI && slices.Contains([]string{
		"GET /v1/files/{id}/cost-estimate", "DELETE /v1/batches/{id}", "POST /v1/batches/{id}/retry",
		"POST /v1/batches/{id}/retry-requests", "GET /v1/batches/{id}/results", "GET /v1/batches/{id}/analytics",
	}, route)
}

// parameters keeps the query keys that the dialect knows too.
func (d Dialect) parameters(known []string) []string {
	if d != DialectOpenAI {
		return known
	}
	return slices.DeleteFunc(slices.Clone(known), func(key string) bool {
		return !slices.Contains([]string{"limit", "after", "order", "purpose"}, key)
	})
}

// made is the status of a reply to a POST that made something.
func (d Dialect) made() int {
	if d == DialectOpenAI {
		return http.StatusOK
	}
	return http.StatusCreated
}

// id is how the dialect writes the id of a new thing.
func (d Dialect) id(kind, uuid string) string {
	bare := uuid
	if d == DialectOpenAI {
		bare = strings.ReplaceAll(uuid, "-", "")
	}
	if kind == "batch" {
		return "batch_" + bare
	}
	return "file-" + bare
}

// replyPlain writes an error as OpenAI does.
func (r *refusal) replyPlain(w http.ResponseWriter) {
	kind, code := "invalid_request_error", ""
	switch {
	case r.status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case r.status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
		w.Header().Set("Retry-After", "60")
	case r.status == http.StatusPaymentRequired:
		kind, code = "insufficient_quota", "insufficient_quota"
	case r.status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	text := openAIError(r.text, kind, "")
	if code != "" {
		text = strings.Replace(text, `"code":null`, `"code":"`+code+`"`, 1)
	}
	contentType := "application/json"
	if strings.HasPrefix(r.text, "<html>") { // the edge in front speaks its own
		text, contentType = r.text, "text/html"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(r.status)
	_, _ = w.Write([]byte(text)) // the client has gone when this fails
}

// appendPlainFailure appends response and error of a failed row as OpenAI writes them.
func appendPlainFailure(dst []byte, f failure, requestID []byte) []byte {
	details := []byte(f.details)
	if status, ok := number(lookup(details, "status")); ok {
		dst = append(dst, `"response":{"status_code":`...)
		dst = append(strconv.AppendInt(dst, int64(status), 10), `,"request_id":"`...)
		dst = append(append(dst, requestID...), `","body":`...)
		if body := unquote(lookup(details, "body")); len(body) > 0 && body[0] == '{' {
			dst = append(dst, body...)
		} else {
			dst = append(dst, openAIError(string(body), "server_error", "")...)
		}
		return append(dst, `},"error":null`...)
	}
	code, message := "server_error", "The server had an error while processing your request"
	if f.kind == expiredRow {
		code, message = "batch_expired", "This request could not be executed before the completion window expired."
	}
	dst = append(append(dst, `"response":null,"error":{"code":"`...), code...)
	return append(append(append(dst, `","message":"`...), message...), `"}`...)
}
