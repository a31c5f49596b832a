package jetstore

import "github.com/nats-io/nats.go"

// Verb says what an [Effect] does to the bus.
type Verb string

// The verbs. An object is several publishes and one commit is one effect, however many subjects it changes.
const (
	VerbPublish Verb = "publish"
	VerbCommit  Verb = "commit"
	VerbPurge   Verb = "purge"
	VerbDelete  Verb = "delete" // of an object
	VerbAck     Verb = "ack"
	VerbNak     Verb = "nak"
	VerbTerm    Verb = "term"
)

// Effect is one thing that a store does to the bus and that stays when the process ends.
type Effect struct {
	Verb Verb
	// Subjects are what it is done to: a message's subject, the subjects of all changes of a commit in their order, an object's name. Not to be
	// changed.
	Subjects []string
	// Header is that of a published message, nil with other verbs. Not to be changed.
	Header nats.Header
}

// Probe is called before each effect, and what it returns when the store knows what became of the effect: done, refused or unknown. It is
// there for tests that end a process at a chosen point. It must be safe for concurrent use.
type Probe func(Effect) (after func())

// Probed returns the same store with a probe, which hears of every effect of it and of its deliveries and windows. What [Setup] makes is no
// effect.
func (s *Store) Probed(p Probe) *Store {
	probed := *s
	probed.probe = p
	return &probed
}

// publishes is the effect of publishing a message.
func (s *Store) publishes(m *nats.Msg) (after func()) {
	if s.probe == nil {
		return nothing
	}
	return s.probe(Effect{Verb: VerbPublish, Subjects: []string{m.Subject}, Header: m.Header})
}

// on is the effect of a verb on one subject.
func (s *Store) on(verb Verb, subject string) (after func()) {
	if s.probe == nil {
		return nothing
	}
	return s.probe(Effect{Verb: verb, Subjects: []string{subject}})
}

func nothing() {}
