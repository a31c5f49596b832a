package ingest

import (
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/events"
)

// nobody stands for the queue or the job in the subject of a dead letter whose request names none: a token, and no name that our own
// tools make.
const nobody = "_"

// request is what the subject and the headers of a message say. Its rows belong to queue and job; job is empty for the rolling job of
// the message's timestamp.
type request struct {
	subject    string
	queue, job string
	rolling    string // the rolling job that the header names; empty: the timestamp's
	sequence   uint64
	at         time.Time // when the stream stored it
	origin     []string
	window     string // completion window asked for; empty: the policy's
	firstLine  int
	part       bool // the payload is part of a file, by its first line's header

	seals, cancels bool
	target         string // the job that the seal is for
	expected       *int
	ignored        []string // names of headers that make no sense and were left aside

	refused *refusal // the whole message is refused
}

// refusal is why a whole message becomes a dead letter.
type refusal struct{ code, message, hint string }

// readRequest reads subject and headers. It never fails: what cannot be obeyed is a refusal, or is left aside.
func readRequest(subject string, header nats.Header, sequence uint64, at time.Time) request {
	r := request{
		subject: subject, sequence: sequence, at: at, firstLine: 1,
		origin: originOf(header.Get(nats.MsgIdHdr), at, sequence),
		window: header.Get(events.HeaderWindow),
	}
	var err error
	if r.queue, r.job, err = events.ParseRequestSubject(subject); err != nil {
		r.queue, r.job = placeholders(subject)
		r.refused = &refusal{
			events.DLBadSubject, "the subject is neither <queue> nor <queue>.<job>",
			"publish to " + events.RequestSubject("<queue>", "<job>") +
				"; names are 1 to 64 of A-Z a-z 0-9 _ -, and " + events.RollingPrefix + " is batchbus' own prefix",
		}
		return r
	}
	if first, ok := r.number(header, events.HeaderFirstLine); ok && first > 0 {
		r.firstLine, r.part = first, true
	}
	r.readSeal(header)
	if !r.seals && r.job == "" {
		r.rolling, r.refused = rollingOf(header.Get(events.HeaderJob), at)
		if r.refused != nil {
			r.job = nobody
		}
	}
	return r
}

// ends reports whether r is a seal that can be obeyed.
func (r *request) ends() bool { return r.seals && r.refused == nil }

// placeholders keeps of a bad subject what can stand in the subject of its dead letter.
func placeholders(subject string) (queue, job string) {
	queue, _, _ = strings.Cut(strings.TrimPrefix(subject, events.PrefixRequests), ".")
	if !events.IsToken(queue) {
		queue = nobody
	}
	return queue, nobody
}

// readSeal reads what ends a job: its own message, or batchbus' message on the queue's subject for a rolling job.
func (r *request) readSeal(header nats.Header) {
	r.cancels = r.flag(header, events.HeaderCancel)
	r.seals = r.flag(header, events.HeaderSeal) || r.cancels
	if !r.seals {
		return
	}
	if expected, ok := r.number(header, events.HeaderExpectedRows); ok {
		r.expected = &expected
	}
	r.target = header.Get(events.HeaderJob)
	if r.job != "" && (r.target == "" || r.target == r.job) {
		r.target = r.job
		return
	}
	window, rolling := events.ParseRolling(r.target)
	switch {
	case r.job != "" || !rolling:
		r.refuseSeal("the seal is not on its job's own subject")
	case r.at.Before(window.End) && !r.cancels:
		r.refuseSeal("the rolling job's window has not ended")
	}
}

func (r *request) refuseSeal(message string) {
	r.refused = &refusal{
		events.DLBadSubject, message,
		"seal or cancel a job on " + events.RequestSubject("<queue>", "<job>") + "; rolling jobs are sealed by batchbus",
	}
	if r.job == "" {
		r.job = nobody
	}
}

// flag reads a header that is true or absent.
func (r *request) flag(header nats.Header, name string) bool {
	text := header.Get(name)
	if text == "" {
		return false
	}
	value, err := strconv.ParseBool(strings.TrimSpace(text))
	if err != nil {
		r.ignored = append(r.ignored, name)
	}
	return value
}

// number reads a header that is a count. Nobody's rows are refused for one that is not.
func (r *request) number(header nats.Header, name string) (int, bool) {
	text := header.Get(name)
	if text == "" {
		return 0, false
	}
	value, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	if err != nil || value < 0 {
		r.ignored = append(r.ignored, name)
		return 0, false
	}
	return int(value), true
}
