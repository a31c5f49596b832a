package doubleword

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxErrorText = 1 << 10  // of Error.Text
	maxErrorBody = 64 << 10 // read of an error's body: to find retry_after_seconds and to reuse the connection
	maxJSONBody  = 16 << 20 // of a JSON answer; a list page of 101 objects is well below 1 MiB
)

// refused turns an answer that is not 2xx into an Error, and closes its body.
func (c *Client) refused(route string, does effect, resp *http.Response) *Error {
	defer closeBody(resp.Body)
	// A body that breaks off is still worth its first bytes.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e := &Error{
		Route: route, Status: resp.StatusCode,
		ContentType: c.redact(resp.Header.Get("Content-Type")),
		Text:        c.errorText(body),
		RetryAfter:  max(retryAfterHeader(resp.Header, time.Now()), retryAfterBody(body)),
		Class:       classOfStatus(resp.StatusCode, does),
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e.cause = fmt.Errorf("redirect to %q not followed", c.redact(resp.Header.Get("Location")))
	}
	return e
}

// failed turns a call without a usable answer into an Error. A cause that repeats the key loses its identity rather than show it.
func (c *Client) failed(route string, does effect, cause error) *Error {
	e := &Error{Route: route, Class: classOfCause(cause, does), cause: cause}
	if shown := c.redact(cause.Error()); shown != cause.Error() {
		e.cause = errors.New(shown)
	}
	return e
}

// decode reads a capped JSON answer, and closes the body.
func decode[T answer](c *Client, k call, resp *http.Response) (T, error) {
	var out, none T
	defer closeBody(resp.Body)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxJSONBody+1))
	if err != nil {
		e := c.failed(k.route(), k.does, fmt.Errorf("read answer: %w", contextCause(resp.Request.Context(), err)))
		e.Status = resp.StatusCode
		return none, e
	}
	if len(body) <= maxJSONBody && json.Unmarshal(body, &out) == nil && out.valid() {
		return out, nil
	}
	return none, &Error{
		Route: k.route(), Status: resp.StatusCode, ContentType: c.redact(resp.Header.Get("Content-Type")), Text: c.errorText(body),
		Class: classOfCause(ErrBadAnswer, k.does), cause: ErrBadAnswer,
	}
}

func (c *Client) redact(s string) string {
	return strings.ReplaceAll(s, c.config.Key.reveal(), redacted)
}

// errorText cuts only after redacting, and drops what may be the first half of a key at the end of a body that was cut before.
func (c *Client) errorText(body []byte) string {
	s := c.redact(string(body[:min(len(body), maxErrorBody)]))
	if len(body) >= maxErrorBody {
		s = s[:max(0, len(s)-len(c.config.Key.reveal())+1)]
	}
	return cutUTF8(strings.ToValidUTF8(s, "\uFFFD"), maxErrorText)
}

// cutUTF8 cuts valid UTF-8 to at most n bytes without splitting a rune.
func cutUTF8(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func retryAfterHeader(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return secondsOf(seconds)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

func retryAfterBody(body []byte) time.Duration {
	var answer struct {
		Seconds looseNumber `json:"retry_after_seconds"`
	}
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) || json.Unmarshal(body, &answer) != nil {
		return 0
	}
	return secondsOf(float64(answer.Seconds))
}

// secondsOf caps at a week: a longer wait is a mistake, not advice.
func secondsOf(seconds float64) time.Duration {
	const week = 7 * 24 * time.Hour
	if math.IsNaN(seconds) || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, week.Seconds()) * float64(time.Second))
}

// closeBody drains a little, so that the connection can be used again, and closes.
func closeBody(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxErrorBody)
	_ = body.Close()
}
