package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// The urls that are answered, as they stand in rows.
const (
	urlChat        = "/v1/chat/completions"
	urlCompletions = "/v1/completions"
	urlEmbeddings  = "/v1/embeddings"
	urlResponses   = "/v1/responses"
	urlMessages    = "/v1/messages"
)

// Headers of calls and answers.
const (
	headerIdempotency = "Idempotency-Key"
	headerRetryCount  = "X-Stainless-Retry-Count"
	headerWindow      = "X-Batchbus-Window"
	headerKeepAlive   = "X-Batchbus-Keep-Alive"
	headerCall        = "X-Batchbus-Custom-Id"
	headerQueue       = "X-Batchbus-Queue"
	headerJob         = "X-Batchbus-Job"
	headerOutcome     = "X-Batchbus-Outcome"
	headerAttached    = "X-Batchbus-Attached"
)

// request is a call that was read and found good.
type request struct {
	who    caller
	url    string
	key    string // the Idempotency-Key
	retry  bool   // the caller's program says that it has sent this before
	window string // the completion window that was asked for
	digest string // of the body as it came

	streams bool // the answer is to come as events
	usage   bool // and the usage as one of them

	patience  time.Duration // after how long the caller wants a handle; negative: it waits
	keepAlive bool          // spaces are wanted before a JSON answer

	body []byte // as it goes into the row; dropped once the row is published
}

// read reads a call and judges its row by the queue's policy.
func (s *Service) read(w http.ResponseWriter, r *http.Request, who caller, url string) (*request, *fault) {
	policy, err := s.policies.of(r.Context(), who.queue)
	if err != nil {
		s.log.Warn().Err(err).Str("queue", who.queue).Msg("policy is not read")
		return nil, unavailable("the policy of queue " + who.queue + " cannot be read")
	}
	if !slices.Contains(policy.URLs, url) {
		return nil, &fault{status: http.StatusNotFound, code: rows.CodeURLNotAllowed, final: true, message: "queue " + who.queue + " does not allow " + url}
	}
	body, fault := s.readBody(w, r, policy.MaxRowBytes)
	if fault != nil {
		return nil, fault
	}
	q := &request{
		who: who, url: url, key: r.Header.Get(headerIdempotency), retry: isRetry(r.Header), window: r.Header.Get(headerWindow),
		digest: hex.EncodeToString(sum(body)), patience: s.patience(r.Header), keepAlive: r.Header.Get(headerKeepAlive) != "",
	}
	if q.window != "" && !slices.Contains(policy.Windows, q.window) {
		return nil, refused(events.DLBadWindow, headerWindow+" is none of "+strings.Join(policy.Windows, ", "))
	}
	return q, q.take(body, policy.rules)
}

// envelopeRoom is what a row needs beside its body: id, method and url.
const envelopeRoom = 256

func (s *Service) readBody(w http.ResponseWriter, r *http.Request, maxRowBytes int) ([]byte, *fault) {
	limit := int64(maxRowBytes - envelopeRoom)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.cfg.BodyTimeout)) // not every writer can, and then there is none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	_ = control.SetReadDeadline(time.Time{})
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, &fault{
			status: http.StatusRequestEntityTooLarge, code: rows.CodeRowTooLarge, final: true,
			message: fmt.Sprintf("the body has more than %d bytes, which a row of the queue holds", limit),
		}
	}
	if err != nil {
		return nil, refused("unreadable_body", "the body did not come whole")
	}
	return body, nil
}

// take judges the body and makes a row's of it: without what asks for a stream, and on one line.
func (q *request) take(body []byte, rules *rows.Rules) *fault {
	o, err := readObject(body)
	if err != nil {
		return refusedText(body, err)
	}
	if q.streams = canStream(q.url) && string(o.value("stream")) == "true"; q.streams {
		q.usage = wantsUsage(o.value("stream_options"))
		if body, err = unstreamed(body); err != nil {
			return refused(rows.CodeInvalidJSON, "the body cannot be read: "+err.Error())
		}
	}
	q.body = oneLine(bytes.TrimSpace(body))
	head := rowHead("x", q.url)
	if _, bad := rows.Parse(append(append(head, q.body...), '}'), rules); bad != nil {
		return q.refuse(bad, len(head))
	}
	return nil
}

// unstreamed is a body without what asks for a stream, which no batch takes. All other bytes stay.
func unstreamed(body []byte) ([]byte, error) {
	body, _, err := rows.Remove(body, []string{"stream"})
	if err == nil {
		body, _, err = rows.Remove(body, []string{"stream_options"})
	}
	return body, err
}

// refusedText is the fault of a body that is no JSON object: what a row's would be, with the place in the body.
func refusedText(body []byte, err error) *fault {
	code, message := rows.CodeInvalidJSON, "the body is not JSON"
	line := bytes.TrimSpace(body)
	if _, bad := rows.Parse(append(append(rowHead("x", urlChat), line...), '}'), nil); bad != nil && !bytes.ContainsRune(line, '\n') {
		code, message = bad.Code, bad.Message
	}
	if code == rows.CodeBodyNotObject || errors.Is(err, errNoObject) && len(line) > 0 && isValue(line) {
		return refused(rows.CodeNotAnObject, errNoObject.Error())
	}
	return refused(code, message+": "+placeOf(body, err))
}

// isValue tells whether a text is JSON, whatever kind.
func isValue(text []byte) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true))
}

func wantsUsage(options []byte) bool {
	o, err := readObject(options)
	return err == nil && string(o.value("include_usage")) == "true"
}

func canStream(url string) bool { return url != urlEmbeddings }

// refuse turns a row's fault into the caller's. Its column is one of the row that the body became.
func (q *request) refuse(bad *rows.Fault, head int) *fault {
	f := refused(bad.Code, bad.Message)
	if bad.Hint != "" {
		f.message += "; " + bad.Hint
	}
	if at := bad.Column - 1 - head; at > 0 && !q.streams {
		f.message += fmt.Sprintf(" (byte %d of the body)", at+1)
	}
	if bad.Code == rows.CodeRowTooLarge {
		f.status = http.StatusRequestEntityTooLarge
	}
	switch bad.Code {
	case rows.CodeModelNotString, rows.CodeMissingModel, rows.CodeModelTooLong:
		f.param = "model"
	}
	return f
}

// rowHead is a row up to its body.
func rowHead(id, url string) []byte {
	out := events.AppendString([]byte(`{"custom_id":`), id)
	out = events.AppendString(append(out, `,"method":"POST","url":`...), url)
	return append(out, `,"body":`...)
}

// row is the call as a row.
func (q *request) row(id string) []byte {
	return append(append(rowHead(id, q.url), q.body...), '}')
}

func sum(text []byte) []byte {
	sum := sha256.Sum256(text)
	return sum[:]
}

// isRetry tells whether a program says that it sends something again. Stainless' SDKs, OpenAI's among them, count.
func isRetry(h http.Header) bool {
	n, err := strconv.Atoi(h.Get(headerRetryCount))
	return err == nil && n > 0
}

// patience is how long the caller wants to wait before it is given a handle.
func (s *Service) patience(h http.Header) time.Duration {
	patience := time.Duration(-1)
	if s.cfg.MaxWait > 0 {
		patience = s.cfg.MaxWait
	}
	async, wait := preferences(h)
	switch {
	case async && wait < 0:
		return 0
	case wait >= 0 && (patience < 0 || wait < patience):
		return wait
	default:
		return patience
	}
}

// preferences reads the header Prefer (RFC 7240): respond-async, and wait in seconds; negative: not said.
func preferences(h http.Header) (async bool, wait time.Duration) {
	wait = -1
	for part := range strings.SplitSeq(strings.Join(h.Values("Prefer"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "respond-async":
			async = true
		case "wait":
			if n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31); err == nil {
				wait = time.Duration(n) * time.Second
			}
		}
	}
	return async, wait
}
