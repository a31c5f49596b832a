package jetstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

// Change is one message of a [Store.Commit]: a key's new value or an event.
type Change struct {
	Subject string        // KeySubject(key), a subject under batchbus.events, QueueSubject(queue) or CallSubject(key)
	Value   []byte        // stored as it is
	Expect  uint64        // the revision replaced; 0: nothing may stand on the subject
	TTL     time.Duration // 0: for ever; whole seconds, at least 1 s. OutboxTTL for events
	Header  nats.Header   // copied, not kept
}

// maxChanges is the server's limit for one atomic publish.
const maxChanges = 1000

// Commit stores all changes or none, and returns their revisions in the changes' order. All subjects must belong to the
// jobs stream and differ; a change of the queues or the calls bucket is a commit of its own. It blocks until the outcome is known or ctx ends, and repeats by itself what can be repeated.
//
//   - nil: stored, exactly once.
//   - [ErrConflict]: nothing was stored, and nothing will be.
//   - [ErrUnknown]: stored or not; a message still under way may even be stored after the return, as long as every Expect
//     still holds. Read the keys again, later than the request timeout, before deciding.
//   - anything else, [ErrOtherServer] for work that is anchored among it: nothing was stored.
//
// A lost reply is resolved by reading: every message carries the commit's own nonce, see [HeaderWriter].
func (s *Store) Commit(ctx context.Context, changes ...Change) ([]uint64, error) {
	if len(changes) == 0 || len(changes) > maxChanges {
		return nil, fmt.Errorf("commit: %d changes, between 1 and %d are possible", len(changes), maxChanges)
	}
	c := commit{store: s, changes: changes, nonce: rand.Text()}
	defer c.effect()()
	revisions, err := c.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("commit %s: %w", changes[0].Subject, err)
	}
	return revisions, nil
}

// effect tells the probe.
func (c *commit) effect() (after func()) {
	if c.store.probe == nil {
		return nothing
	}
	subjects := make([]string, len(c.changes))
	for i, change := range c.changes {
		subjects[i] = change.Subject
	}
	return c.store.probe(Effect{Verb: VerbCommit, Subjects: subjects})
}

type commit struct {
	store   *Store
	changes []Change
	nonce   string
	lost    bool // a try's reply was lost: its messages may be stored, now or a little later
}

func (c *commit) run(ctx context.Context) ([]uint64, error) {
	for pause := newPause(); ; {
		first, err := c.try(ctx)
		c.store.full.heard(c.changes[0].Subject, err)
		if err == nil {
			return c.revisions(first), nil
		}
		first, done, verdict := c.judge(ctx, err)
		if done && verdict == nil {
			return c.revisions(first), nil
		}
		if done {
			return nil, verdict
		}
		if pause.wait(ctx) != nil {
			return nil, c.outOfTime(err)
		}
	}
}

// judge decides what a failed try means. Not done: try again.
func (c *commit) judge(ctx context.Context, err error) (first uint64, done bool, verdict error) {
	_, answered := errors.AsType[*jetstream.APIError](err)
	outcome := Classify(err)
	if outcome == Again && !answered && !errors.Is(err, errAway) {
		c.lost = true
	}
	switch {
	case c.lost:
		return c.resolve(ctx, err)
	case outcome == Already:
		return 0, true, ErrConflict
	case outcome == Again:
		return 0, false, nil
	case outcome == TooBig:
		return 0, true, fmt.Errorf("%w: %w", ErrTooBig, err)
	default:
		return 0, true, err
	}
}

func (c *commit) outOfTime(err error) error {
	if c.lost {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return outOfTime(c.changes[0].Subject, err)
}

// try publishes once. The revision of the first change is returned; the others follow it without a gap.
func (c *commit) try(ctx context.Context) (uint64, error) {
	if err := c.store.holds(ctx); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	messages := c.messages()
	if len(messages) == 1 {
		ack, err := c.store.js.PublishMsg(ctx, messages[0])
		if err != nil {
			return 0, fmt.Errorf("publish: %w", err)
		}
		return ack.Sequence, nil
	}
	ack, err := jetstreamext.PublishMsgBatch(ctx, c.store.js, messages, jetstreamext.BatchFlowControl{})
	if err != nil {
		return 0, fmt.Errorf("publish %d changes: %w", len(messages), err)
	}
	return ack.Sequence - uint64(len(messages)) + 1, nil
}

// messages are made anew for each try: the publisher writes into their headers.
func (c *commit) messages() []*nats.Msg {
	out := make([]*nats.Msg, len(c.changes))
	for i, change := range c.changes {
		header := maps.Clone(change.Header)
		if header == nil {
			header = nats.Header{}
		}
		header.Set(HeaderWriter, c.nonce)
		header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(change.Expect, 10))
		if change.TTL > 0 {
			header.Set(jetstream.MsgTTLHeader, change.TTL.String())
		}
		out[i] = &nats.Msg{Subject: change.Subject, Header: header, Data: change.Value}
	}
	return out
}

func (c *commit) revisions(first uint64) []uint64 {
	out := make([]uint64, len(c.changes))
	for i := range out {
		out[i] = first + uint64(i)
	}
	return out
}

// resolve finds out, from what stands on the subjects, whether a try whose reply was lost was stored. The first subject is
// read again at the end: what is as expected after another has moved is proof, before it is not.
func (c *commit) resolve(ctx context.Context, cause error) (first uint64, done bool, verdict error) {
	states := make([]state, 0, len(c.changes)+1)
	for i := range len(c.changes) + 1 {
		i %= len(c.changes)
		m, err := c.store.Last(ctx, streamOf(c.changes[i].Subject), c.changes[i].Subject)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return 0, true, fmt.Errorf("%w: %w", ErrUnknown, errors.Join(cause, err))
		}
		found := c.look(c.changes[i], m)
		if found == ours {
			return m.Sequence - uint64(i), true, nil
		}
		states = append(states, found)
	}
	if verdict = weigh(states); verdict != nil {
		return 0, true, fmt.Errorf("%w: %w", verdict, cause)
	}
	if outcome := Classify(cause); outcome == TooBig || outcome == Refused {
		return 0, true, fmt.Errorf("%w: %w", ErrUnknown, cause)
	}
	return 0, false, nil
}

// state is what stands on a change's subject after a try.
type state int

const (
	unchanged state = iota // what the change expects
	ours                   // the change itself
	overtaken              // another writer's, put on the very revision that the change expects
	foreign                // another writer's, and what was under it is not known
)

func (c *commit) look(change Change, m Message) state {
	switch {
	case m.Sequence == change.Expect:
		return unchanged
	case m.Header.Get(HeaderWriter) == c.nonce:
		return ours
	case m.Header.Get(jetstream.ExpectedLastSubjSeqHeader) == strconv.FormatUint(change.Expect, 10):
		return overtaken
	default:
		return foreign
	}
}

// weigh judges states in the order they were read. ErrConflict: our changes were not stored and cannot be any more, because
// another writer took the revision that one of them expects, or because one was as expected after another had moved, which
// all-or-nothing rules out for ours. ErrUnknown: others have written over every trace. Nil: a repetition will tell.
func weigh(states []state) error {
	moved := false
	for _, s := range states {
		if s == overtaken || s == unchanged && moved {
			return ErrConflict
		}
		moved = moved || s != unchanged
	}
	if states[0] == unchanged {
		return nil
	}
	return ErrUnknown
}
