package doubleword

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// LineError is the failure of one row.
type LineError struct {
	// Code is the innermost code the provider or the model server gave, or the innermost type where it gave none.
	Code string
	// Message is the innermost human message, decoded from up to three layers of JSON in strings. It can hold text of the row. What is beyond
	// 64 KiB of it stands in Raw only.
	Message string
	// StatusCode is the upstream HTTP status, 0 when there was none.
	StatusCode int
	// Type is the outermost type: the provider's kind of failure, like "NonRetriableHttpStatus" or "Timeout", or the model server's.
	Type string
	// Retryable reports whether a new attempt of the same row may succeed. 401, 402 and 403 are not: they concern the whole key, so look at
	// StatusCode too.
	Retryable bool
	// Raw is the error as it stood in the line, and aliases it.
	Raw []byte
}

// Codes that a server of the public shape gives in its error file to rows that never ran.
const (
	CodeBatchExpired   = "batch_expired"   // the completion window ended before
	CodeBatchCancelled = "batch_cancelled" // the batch was cancelled before
)

const (
	// maxErrorLayers counts objects and strings both: the contract nests up to three strings of JSON, with objects between them.
	maxErrorLayers = 12
	// maxErrorDoc keeps an error page of any size from being decoded over and over.
	maxErrorDoc = 1 << 20
	// maxErrorMessage bounds what is kept twice, as a message and in Raw.
	maxErrorMessage = 64 << 10
)

// errorDoc is any object on the way to the message: {"type","details"}, {"status","body"}, {"error"}, {"message","type","code"}, {"detail"}.
type errorDoc struct {
	Type       looseString     `json:"type"`
	Code       looseString     `json:"code"`
	Status     json.RawMessage `json:"status"`
	StatusCode looseNumber     `json:"status_code"`
	Details    json.RawMessage `json:"details"`
	Body       json.RawMessage `json:"body"`
	Error      json.RawMessage `json:"error"`
	Message    json.RawMessage `json:"message"`
	Detail     json.RawMessage `json:"detail"`
}

// explainError finds what an error member means; status is the line's own, 0 when it has none.
func explainError(raw []byte, status int) *LineError {
	e := &LineError{Raw: raw}
	var innerType string
	e.dig(raw, &innerType, maxErrorLayers)
	if e.StatusCode == 0 {
		e.StatusCode = status
	}
	e.Retryable = e.retryable()
	if e.Message == "" {
		e.Message = cmp.Or(e.Type, fmt.Sprintf("status %d without a message", e.StatusCode))
	}
	if e.Code == "" {
		e.Code = innerType
	}
	if len(e.Message) > maxErrorMessage {
		e.Message = cutUTF8(e.Message, maxErrorMessage) + "… (cut; the whole is in raw)"
	}
	return e
}

// dig goes one layer down: an object to its innermost message, a string to the JSON in it, anything else is the message itself.
func (e *LineError) dig(raw []byte, innerType *string, layers int) {
	raw = bytes.TrimSpace(raw)
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case layers > 0 && len(raw) <= maxErrorDoc && raw[0] == '{' && e.digObject(raw, innerType, layers):
	case json.Unmarshal(raw, &text) != nil:
		e.Message = string(raw)
	case layers > 0 && len(text) <= maxErrorDoc && strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text)):
		e.dig([]byte(text), innerType, layers-1)
	case text != "":
		e.Message = text
	}
}

// digObject reports false when the object says nothing that is known, so that it becomes the message whole.
func (e *LineError) digObject(raw []byte, innerType *string, layers int) bool {
	var doc errorDoc
	if json.Unmarshal(raw, &doc) != nil {
		return false
	}
	if doc.Type != "" {
		*innerType = string(doc.Type)
		if e.Type == "" {
			e.Type = string(doc.Type)
		}
	}
	if doc.Code != "" {
		e.Code = string(doc.Code)
	}
	if status := max(wholeNumber(doc.Status), doc.StatusCode.int()); e.StatusCode == 0 && status > 0 {
		e.StatusCode = int(status)
	}
	known := doc.Type != "" || doc.Code != ""
	for _, inner := range [][]byte{doc.Detail, doc.Message, doc.Error, doc.Body, doc.Details} {
		if len(inner) > 0 && string(inner) != "null" {
			e.dig(inner, innerType, layers-1)
			known = true
		}
	}
	return known
}

// retryable goes by the provider's kind of failure, then by status, then by code. What says nothing may be tried again.
func (e *LineError) retryable() bool {
	switch e.Type {
	case "RetriableHttpStatus", "NetworkError", "Timeout", "TaskTerminated", "BatchTerminated":
		return true
	case "NonRetriableHttpStatus", "RequestBuilderError":
		return false
	}
	switch e.StatusCode {
	case 0:
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, 499:
		return true
	default:
		return e.StatusCode >= 500
	}
	switch e.Code {
	case "", "server_error", "internal_error", "rate_limit_exceeded", "timeout", CodeBatchExpired, CodeBatchCancelled:
		return e.Type == "" || e.Code != "" || e.Type == "server_error"
	}
	return false
}
