package jetstore

import (
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Outcome is what a publish came to.
type Outcome int

const (
	// Stored means that the server has the message.
	Stored Outcome = iota
	// Already means that a message stands on the subject where none was expected.
	Already
	// Again means that the server did not store the message, or did not say, and that the same publish can be repeated.
	Again
	// TooBig means that no repetition helps until the message is smaller.
	TooBig
	// Refused means that no repetition helps.
	Refused
)

// String is the outcome's name in lower case.
func (o Outcome) String() string {
	return [...]string{"stored", "already", "again", "too big", "refused"}[o]
}

// Server error codes that nats.go has no names for; see the server's errors.json.
const (
	codeAccountFull           jetstream.ErrorCode = 10002
	codeServerFull            jetstream.ErrorCode = 10023
	codeDiskFull              jetstream.ErrorCode = 10047
	codeMessageExceedsMaximum jetstream.ErrorCode = 10054
	codeWrongLastSequence     jetstream.ErrorCode = 10071
	codeStoreFailed           jetstream.ErrorCode = 10077
	codeUncommittedConflict   jetstream.ErrorCode = 10164
	codeTooManyRequests       jetstream.ErrorCode = 10167
	codeBatchIncomplete       jetstream.ErrorCode = 10176
)

// Classify maps the error of a publish to its outcome; it is the one place that does.
//
//	nil                                             stored
//	10071 wrong last sequence                       already
//	10164 conflict with an uncommitted write (R3)   again: it says nothing about what is stored
//	10167 ingest queue full, 429, 5xx               again
//	10176 atomic batch with a message lost          again
//	10077 store failed: the stream is full          again, except "message too large"
//	10002, 10023, 10047 account or server is full   again, though 10002 comes with 400
//	timeout, disconnect, no responders, no answer   again
//	10054, max_payload                              too big
//	anything else                                   refused
//
// 10071 means Already only for a publish that expected no message (sequence 0); for one that expected a revision it is a
// lost race.
func Classify(err error) Outcome {
	if err == nil {
		return Stored
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return classifyCode(api)
	}
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return TooBig
	case final(err):
		return Refused
	default: // timeouts, disconnects, stalls: everything that is about the way and not about the message
		return Again
	}
}

func classifyCode(api *jetstream.APIError) Outcome {
	switch api.ErrorCode {
	case codeWrongLastSequence:
		return Already
	case codeMessageExceedsMaximum:
		return TooBig
	case codeUncommittedConflict, codeTooManyRequests, codeBatchIncomplete, codeAccountFull, codeServerFull, codeDiskFull:
		return Again
	case codeStoreFailed:
		if api.Description == "message too large" || api.Description == "message size exceeds maximum allowed" {
			return TooBig
		}
		return Again
	default:
		if api.Code >= 500 || api.Code == 429 {
			return Again
		}
		return Refused
	}
}

// final are the errors nats.go gives before or without sending, which no repetition changes.
func final(err error) bool {
	for _, target := range []error{
		ErrOtherServer,
		nats.ErrConnectionClosed, nats.ErrConnectionDraining, nats.ErrBadSubject, nats.ErrInvalidMsg, nats.ErrHeadersNotSupported,
		nats.ErrPermissionViolation, nats.ErrAuthorization, jetstream.ErrInvalidSubject, jetstream.ErrInvalidOption,
		jetstream.ErrJetStreamNotEnabled, jetstream.ErrAsyncPublishReplySubjectSet,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
