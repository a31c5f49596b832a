package doubleword

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Sentinels; the errors that wrap them are usually an [*Error].
var (
	// ErrIdle is returned when no byte of an upload, or less than a kibibyte of a download, moved for the idle timeout.
	ErrIdle = errors.New("next to nothing moved for the idle timeout")
	// ErrTimeout is returned when a call that is not a transfer took longer than its timeout.
	ErrTimeout = errors.New("call took too long")
	// ErrPageLoop is returned when a list shows what it has shown before, or says that more follows an empty page. The list read so
	// far is then not the whole list. A cursor that was deleted meanwhile does that too, so a fresh listing may succeed.
	ErrPageLoop = errors.New("list repeats itself")
	// ErrEndless is returned when a list goes on after as many pages as its query follows. The list read so far is then not the whole list.
	ErrEndless = errors.New("list has no end")
	// ErrBadID is returned, before anything is sent, when an id is empty or cannot be a path segment.
	ErrBadID = errors.New("id is empty or not a path segment")
	// ErrBadAnswer is returned when a successful status comes with a body that is not the promised JSON.
	ErrBadAnswer = errors.New("answer is not the promised JSON")
	// ErrEncoded is returned when a successful answer comes encoded, like gzip, though only identity was asked for: its bytes are not the content.
	ErrEncoded = errors.New("answer is encoded, though only identity was asked for")
)

// Class says what a failure means for the call that failed. The zero value is no failure.
type Class int

// Classes of failures.
const (
	// Retryable: nothing happened, or repeating does no harm; the same call may succeed later.
	Retryable Class = iota + 1
	// Permanent: refused, and the same call will be refused again. Of 401 and 404 that is true only after some spaced repeats:
	// the provider also says so when its own storage fails.
	Permanent
	// Ambiguous: it may have been done. Find out before repeating it.
	Ambiguous
)

// String returns the class in lower case, and "none" for the zero value.
func (c Class) String() string {
	switch c {
	case Retryable:
		return "retryable"
	case Permanent:
		return "permanent"
	case Ambiguous:
		return "ambiguous"
	default:
		return "none"
	}
}

// Error is a failed call. Its text never holds the API key.
type Error struct {
	// Route is method and path pattern, like "GET /batches/{id}".
	Route string
	// Status is the HTTP status, 0 when no answer came.
	Status int
	// ContentType is the answer's.
	ContentType string
	// Text is the start of the answer's body: at most 1 KiB, valid UTF-8, key redacted.
	Text string
	// RetryAfter is how long the provider asked to wait, by header or body, whichever is longer; 0 when it did not.
	RetryAfter time.Duration
	// Class says what the failure means for this very call.
	Class Class

	cause error
}

// shownText bounds the part of Text that Error prints, so that a log line stays a line.
const shownText = 256

// Error returns route, status, class, cause and the start of the provider's text.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Route)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	fmt.Fprintf(&b, " (%s)", e.Class)
	if e.cause != nil {
		b.WriteString(": " + e.cause.Error())
	}
	if e.Text != "" {
		fmt.Fprintf(&b, ": %q", cutUTF8(e.Text, shownText))
	}
	return b.String()
}

// Unwrap returns the cause, nil when the status says it all.
func (e *Error) Unwrap() error { return e.cause }

// ClassOf returns the class of any error: of an [*Error] its own; of a connection that was never made Retryable; of a wrong
// configuration or id Permanent; of everything else Ambiguous, since it is not known which call failed. nil gives the zero Class.
// It is pure.
func ClassOf(err error) Class {
	var e *Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Class
	case errors.Is(err, ErrInsecureURL), errors.Is(err, ErrBadID):
		return Permanent
	case neverSent(err), errors.Is(err, ErrPageLoop), errors.Is(err, ErrEndless), errors.Is(err, ErrIdle):
		return Retryable
	}
	return Ambiguous
}

// neverSent reports only what is certain: no connection, so no byte of the request can have left.
func neverSent(err error) bool {
	var (
		op   *net.OpError
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
	)
	if errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	return errors.As(err, &dns) || errors.As(err, &cert)
}

// effect is what a call does when it is done twice.
type effect int

const (
	harmless effect = iota // a read, or a change that is the same twice
	paid                   // money
)

// classOfStatus classifies an answer that is not 2xx.
func classOfStatus(status int, does effect) Class {
	switch {
	case status == http.StatusTooManyRequests:
		return Retryable
	case does == paid && !definiteRefusal(status):
		return Ambiguous
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == 499, status >= 500:
		return Retryable
	}
	return Permanent
}

// definiteRefusal reports whether a status proves that no batch was made. 404 does not: the provider maps storage errors to it.
func definiteRefusal(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooEarly, 499:
		return false
	}
	return status >= 400 && status < 500
}

// classOfCause classifies a call that got no usable answer.
func classOfCause(cause error, does effect) Class {
	switch {
	case does == harmless, neverSent(cause):
		return Retryable
	}
	return Ambiguous
}

// contextCause names our own timeouts, which net/http reports as a bare cancellation.
func contextCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}
