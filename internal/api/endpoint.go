package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/nats-io/nats.go/micro"

	"github.com/batchbus/batchbus/pkg/events"
)

// endpoint is one thing that can be asked for: answer takes the request's JSON and returns the answer's.
type endpoint struct {
	name   string
	answer func(ctx context.Context, request []byte) ([]byte, error)
	slow   bool // it deletes or changes one by one
}

// endpoints is the table of the API.
func (s *Service) endpoints() []endpoint {
	return []endpoint{
		{name: events.APIJobsOpen, answer: answering(s.open)},
		{name: events.APIJobsSeal, answer: answering(s.seal)},
		{name: events.APIJobsGet, answer: answering(s.get)},
		{name: events.APIJobsList, answer: answering(s.list)},
		{name: events.APIJobsCancel, answer: answering(s.cancel)},
		{name: events.APIJobsForget, answer: answering(s.forget), slow: true},
		{name: events.APIJobsResume, answer: answering(s.resume), slow: true},
		{name: events.APIJobsRetry, answer: answering(s.retry), slow: true},
		{name: events.APIEstimate, answer: answering(s.estimate), slow: true},
		{name: events.APIQueuesGet, answer: answering(s.getQueue)},
		{name: events.APIQueuesPut, answer: answering(s.putQueue)},
		{name: events.APIQueuesList, answer: answering(s.listQueues)},
		{name: events.APIQueuesPause, answer: answering(s.pauseQueue)},
		{name: events.APIQueuesResume, answer: answering(s.resumeQueue)},
		{name: events.APIBatchesGet, answer: answering(s.getBatch)},
		{name: events.APIBatchesList, answer: answering(s.listBatches)},
		{name: events.APIBatchesAdopt, answer: answering(s.adopt)},
		{name: events.APIBatchesAbandon, answer: answering(s.abandon)},
		{name: events.APIBatchesResume, answer: answering(s.resumeBatch)},
	}
}

func answering[Q, A events.APIPayload](do func(context.Context, Q) (A, error)) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, request []byte) ([]byte, error) {
		q, err := read[Q](request)
		if err != nil {
			return nil, err
		}
		a, err := do(ctx, q)
		if err != nil {
			return nil, err
		}
		return events.EncodeAPI(a), nil
	}
}

// read reads a request. A field that is unknown is refused: an option with a slip in its name would silently not be obeyed.
func read[Q events.APIPayload](request []byte) (q Q, err error) {
	if len(bytes.TrimSpace(request)) == 0 {
		return q, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(request))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&q); err != nil {
		return q, refusal(events.APIBadRequest, "read request: %v", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return q, refusal(events.APIBadRequest, "read request: more than one JSON value")
	}
	return q, nil
}

func refusal(code, format string, args ...any) *events.APIError {
	return &events.APIError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// handle answers one request.
func (s *Service) handle(ctx context.Context, e endpoint, r micro.Request) {
	timeout := s.RequestTimeout
	if e.slow {
		timeout *= 10
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := e.answer(ctx, r.Data())
	if err == nil {
		err = r.Respond(answer)
	} else {
		err = s.refuse(e, r, err)
	}
	if err != nil { // the one who asked knows no more than we do, and asks again
		s.Log.Warn().Str("endpoint", e.name).Err(err).Msg("answer is not sent")
	}
}

func (s *Service) refuse(e endpoint, r micro.Request, err error) error {
	known, ok := errors.AsType[*events.APIError](err)
	if !ok {
		s.Log.Warn().Str("endpoint", e.name).Err(err).Msg("request failed")
		known = refusal(events.APIUnavailable, "%v: it may be done or not, ask again", err)
	}
	return r.Error(known.Code, headerText(known.Message), events.EncodeAPI(*known)) //nolint:wrapcheck // the caller says what failed
}

// headerText is message as one line that a terminal may show: tools print this header as it is. The body has the message itself.
func headerText(message string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, message)
}
