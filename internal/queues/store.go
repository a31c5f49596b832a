package queues

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

var (
	// ErrRecord is returned when a queue's record cannot be obeyed: another tool wrote it. Its jobs do not open until it is put right.
	ErrRecord = errors.New("the queue's record is not a valid policy: put it right with batchbus queues put")
	// ErrFaults is returned when a policy has faults; nothing was stored. The error behind it says all of them.
	ErrFaults = errors.New("the policy has faults")
	// ErrRevision is returned when a record is not of the revision that its writer has read; nothing was stored.
	ErrRevision = errors.New("the queue's record has changed meanwhile")
)

// Bus is what this package needs of the store, which is a [jetstore.Store] everywhere but in tests.
type Bus interface {
	Queue(ctx context.Context, queue string) (jetstore.Entry, error)
	QueuesFrom(ctx context.Context, from uint64) iter.Seq2[jetstore.Entry, error]
	Commit(ctx context.Context, changes ...jetstore.Change) ([]uint64, error)
}

// Store reads and writes policies. It is safe for concurrent use, and remembers nothing but the lengths of rolling windows.
type Store struct {
	bus       Bus
	linger    time.Duration
	histories histories
}

// New returns a store on bus. Linger is the length of rolling windows, whole seconds, of queues that have none of their own; 0: the default policy's.
func New(bus Bus, linger time.Duration) *Store { return &Store{bus: bus, linger: linger} }

// base is the policy of a queue without a record.
func (s *Store) base() events.Policy {
	p := events.DefaultPolicy()
	if s.linger > 0 {
		p.LingerSeconds = max(int(s.linger/time.Second), 1)
	}
	return p
}

// Queue is a queue's policy as it was read.
type Queue struct {
	Name   string
	Policy events.Policy
	// Record is what differs from the default, a JSON object; nil when that is nothing.
	Record []byte
	// Lingers are the lengths of rolling windows that the record has kept, and is to have from a time that may not have come yet.
	Lingers []events.Linger
	// Fault is what is wrong with the record, and wraps [ErrRecord]; Policy is the default then. Nil as a rule.
	Fault error
	// Revision is what a change of the record replaces, and ChangedAt when it was made: zero when there never was one.
	Revision  uint64
	ChangedAt time.Time
}

// Get reads a queue, by the word of the bucket's leader. A queue without a record is no error, nor is one with a bad record.
func (s *Store) Get(ctx context.Context, queue string) (Queue, error) {
	entry, err := s.bus.Queue(ctx, queue)
	if errors.Is(err, jetstore.ErrNotFound) {
		return Queue{Name: queue, Policy: s.base(), Revision: entry.Revision}, nil
	}
	if err != nil {
		return Queue{}, fmt.Errorf("read policy: %w", err)
	}
	return s.queueOf(&entry), nil
}

func (s *Store) queueOf(entry *jetstore.Entry) Queue {
	q := Queue{Name: entry.Key, Policy: s.base(), Record: withoutHistory(entry.Value), Revision: entry.Revision, ChangedAt: entry.At}
	policy, err := read(q.Policy, entry.Value)
	if err == nil {
		err = Check(&policy)
	}
	if err == nil {
		q.Lingers, err = historyOf(entry.Value, entry.At)
	}
	if err != nil {
		q.Fault = fmt.Errorf("queue %s: %w: %w", q.Name, ErrRecord, err)
		return q
	}
	q.Policy = policy
	return q
}

// Policy is the queue's policy now, for a job that opens. [ErrRecord] when its record is bad: the job must wait.
func (s *Store) Policy(ctx context.Context, queue string) (events.Policy, error) {
	q, err := s.Get(ctx, queue)
	return q.Policy, errors.Join(err, q.Fault)
}

// From yields the queues that have a record of their own, whose last change has the revision from or a later one, in the order of their last changes. One
// that changes meanwhile can come twice.
func (s *Store) From(ctx context.Context, from uint64) iter.Seq2[Queue, error] {
	return func(yield func(Queue, error) bool) {
		for entry, err := range s.bus.QueuesFrom(ctx, from) {
			if err != nil {
				yield(Queue{}, fmt.Errorf("list queues: %w", err))
				return
			}
			q := s.queueOf(&entry)
			if q.Record == nil && q.Fault == nil {
				continue // nothing but the lengths of windows that it had once
			}
			if !yield(q, nil) {
				return
			}
		}
	}
}

// Put replaces the queue's record by the given fields, a JSON object, or {} for the default policy, and returns the queue as it is then.
// Expect is the revision that is replaced; nil: whichever there is. What equals the default is left out of the record.
//
// [ErrFaults], [ErrRevision]: nothing was stored. After another error it may be stored: put it again. It is idempotent: a record that is
// there already is no conflict.
func (s *Store) Put(ctx context.Context, queue string, fields []byte, expect *uint64) (Queue, error) {
	text, err := checked(fields)
	if err != nil {
		return Queue{}, fmt.Errorf("queue %s: %w: %w", queue, ErrFaults, err)
	}
	for {
		have, err := s.Get(ctx, queue)
		switch {
		case err != nil:
			return have, err
		case have.Record == nil && text == nil, have.Record != nil && have.Fault == nil && string(have.Record) == string(text):
			return have, nil // a try whose answer was lost, perhaps
		case expect != nil && *expect != have.Revision:
			return have, fmt.Errorf("queue %s: %w: it is of revision %d and not %d", queue, ErrRevision, have.Revision, *expect)
		}
		stored, err := withHistory(text, recent(have.Lingers, time.Now()))
		if err != nil {
			return have, fmt.Errorf("queue %s: %w: %w", queue, ErrFaults, err)
		}
		change := jetstore.Change{Subject: jetstore.QueueSubject(queue), Value: stored, Expect: have.Revision}
		if stored == nil {
			change = jetstore.QueueDeletion(queue, have.Revision)
		}
		if _, err = s.bus.Commit(ctx, change); err == nil {
			return s.Get(ctx, queue)
		}
		if !errors.Is(err, jetstore.ErrConflict) {
			return have, fmt.Errorf("put queue %s: %w", queue, err)
		}
	}
}

// checked is the record that the fields make; nil when they make the default policy.
func checked(fields []byte) ([]byte, error) {
	if len(fields) > MaxPolicyBytes {
		return nil, fmt.Errorf("the policy has more than %d bytes", MaxPolicyBytes)
	}
	base := events.DefaultPolicy()
	policy, err := Overlay(base, fields)
	if err != nil {
		return nil, err
	}
	if err := Check(&policy); err != nil {
		return nil, err
	}
	if named(fields, "linger_seconds") {
		base.LingerSeconds = 0 // who names a length wants it, whatever the services' own is
	}
	text, err := record(policy, base)
	if err != nil || string(text) == "{}" {
		return nil, err
	}
	return text, nil
}

// named tells whether a JSON object, which was read before, has a member of this name.
func named(object []byte, name string) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(object, &fields) == nil && fields[name] != nil
}
