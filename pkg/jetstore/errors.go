package jetstore

import (
	"errors"
	"strings"
)

var (
	// ErrNotFound is returned when nothing is stored under the key, subject or sequence.
	ErrNotFound = errors.New("not found")
	// ErrConflict is returned when a revision was not the expected one: nothing was stored.
	ErrConflict = errors.New("revision is not the expected one")
	// ErrUnknown is returned when the reply was lost and could not be resolved before ctx ended, or when every key had
	// been replaced again by then: stored or not.
	ErrUnknown = errors.New("outcome unknown")
	// ErrExists is returned when a message published once stands on its subject already: nothing was stored.
	ErrExists = errors.New("subject holds a message already")
	// ErrTooBig is returned when a message exceeds what the server or the stream takes: nothing was stored. See [Store.Fit].
	ErrTooBig = errors.New("message is too big")
	// ErrDigest is returned when an object's bytes are not those its digest names.
	ErrDigest = errors.New("object does not match its digest")
	// ErrNoJetStream is returned when nobody answers for JetStream: the server or the account has none, or it has no leader.
	ErrNoJetStream = errors.New("nobody answers for JetStream: is it enabled on this server and for this account?")
	// ErrObjectMissing is returned when there is no object of the name, which on a lagging replica can pass.
	ErrObjectMissing = errors.New("object is missing")
)

// DriftError says how a live server differs from the topology. Nothing of what it names was changed: a person decides
// between changing the server, by the nats tool, and changing the settings.
type DriftError struct {
	Differences []Difference
}

// Difference is one field of one stream or consumer that is not as the topology wants it.
type Difference struct {
	Name  string // the stream, or "stream/consumer"
	Field string // the field's JSON name in JetStream's configuration; "exists" when the whole thing is missing
	Want  string
	Have  string
}

// Error lists every difference, on one line.
func (e *DriftError) Error() string {
	all := make([]string, len(e.Differences))
	for i, d := range e.Differences {
		all[i] = d.Name + ": " + d.Field + " is " + d.Have + ", want " + d.Want
	}
	return "topology differs from the server: " + strings.Join(all, "; ")
}
