package queues

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const (
	// LingerLead is how long after the change of a record, by the bus' clock, a new length of rolling windows holds. It is what lets a reader
	// remember the lengths; see the package's comment.
	LingerLead = 30 * time.Second
	// lingerMemory is for how long behind the message that it was read for a history is believed. The rest of LingerLead is for the clocks of
	// the bus' servers to differ.
	lingerMemory = LingerLead / 2
	// MaxLinger bounds the length of rolling windows: rows wait that long before they are sent.
	MaxLinger = 24 * time.Hour
	// lingerAge is how long a length that holds no more is kept, for messages from its time that are delivered again.
	lingerAge = 30 * 24 * time.Hour
	// maxLingers bounds a record: a length is not changed a hundred times a month.
	maxLingers = 100
	// maxHistories bounds what a reader remembers.
	maxHistories = 1024
)

// lingersField is the field of a record that holds the lengths of the past, beside those of the policy.
const lingersField = "lingers"

// errLingers is returned when a record would hold more lengths than it may.
var errLingers = fmt.Errorf("linger_seconds: it was changed %d times within a month, and what held before must be kept", maxLingers)

// historyOf are the lengths that a record says have held or are to hold, each from its time on; before the first, and with none, it is the
// services' own. At is when the record was written: if its length is not the last one of those that it keeps, it holds [LingerLead] later.
func historyOf(record []byte, at time.Time) ([]events.Linger, error) {
	var r struct {
		Seconds int             `json:"linger_seconds"`
		Lingers []events.Linger `json:"lingers"`
	}
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, fmt.Errorf("read lengths of rolling windows: %w", err)
	}
	last := 0
	for i, l := range r.Lingers {
		if l.Seconds < 0 || l.Seconds > int(MaxLinger/time.Second) || i > 0 && l.From.Before(r.Lingers[i-1].From) {
			return nil, fmt.Errorf("lingers: entry %d is none, or not behind the one before it", i+1)
		}
		last = l.Seconds
	}
	if r.Seconds == last {
		return r.Lingers, nil
	}
	return append(slices.Clip(r.Lingers), events.Linger{Seconds: r.Seconds, From: at.Add(LingerLead).UTC()}), nil
}

// lingerAt is the length that held at a time, in seconds; 0: the services' own. It is pure.
func lingerAt(history []events.Linger, at time.Time) int {
	for _, l := range slices.Backward(history) {
		if !at.Before(l.From) {
			return l.Seconds
		}
	}
	return 0
}

// recent leaves out the lengths that held for messages of no time within lingerAge.
func recent(history []events.Linger, now time.Time) []events.Linger {
	old := now.Add(-lingerAge)
	for len(history) > 1 && history[1].From.Before(old) {
		history = history[1:]
	}
	return history
}

// withHistory is a record, nil for one of the default policy, with the lengths of the past in it; nil when there is nothing to keep.
func withHistory(record []byte, history []events.Linger) ([]byte, error) {
	switch {
	case len(history) == 0:
		return record, nil
	case len(history) > maxLingers:
		return nil, errLingers
	}
	fields := make(map[string]json.RawMessage)
	if record != nil {
		if err := json.Unmarshal(record, &fields); err != nil {
			return nil, fmt.Errorf("read record: %w", err)
		}
	}
	text, err := json.Marshal(history)
	if err != nil {
		return nil, fmt.Errorf("encode lengths of rolling windows: %w", err)
	}
	fields[lingersField] = text
	return json.Marshal(fields) //nolint:wrapcheck // it cannot fail on what was decoded just now
}

// withoutHistory is what of a stored record is the policy's; nil when that is nothing.
func withoutHistory(stored []byte) []byte {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(stored, &fields); err != nil || fields[lingersField] == nil {
		return append([]byte{}, stored...)
	}
	delete(fields, lingersField)
	text, err := json.Marshal(fields)
	if err != nil || len(fields) == 0 {
		return nil
	}
	return text
}

// histories are what a reader remembers of the lengths of queues. It is safe for concurrent use.
type histories struct {
	mu    sync.Mutex
	known map[string]history
}

// history is what holds for messages of a queue with a timestamp before until.
type history struct {
	lingers []events.Linger
	until   time.Time
}

func (h *histories) get(queue string, at time.Time) (found history, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, ok = h.known[queue]
	return found, ok && at.Before(found.until)
}

func (h *histories) put(queue string, read history) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil || len(h.known) >= maxHistories {
		h.known = make(map[string]history)
	}
	if h.known[queue].until.Before(read.until) {
		h.known[queue] = read
	}
}

// Linger is the length of the queue's rolling windows that holds for a message with this timestamp of the bus, which was received: it is the same
// whoever asks, and whenever. It asks the bucket's leader once for the messages of [LingerLead]/2. [ErrRecord] when its record cannot be read.
func (s *Store) Linger(ctx context.Context, queue string, at time.Time) (time.Duration, error) {
	known, ok := s.histories.get(queue, at)
	if !ok {
		entry, err := s.bus.Queue(ctx, queue)
		if err != nil && !errors.Is(err, jetstore.ErrNotFound) {
			return 0, fmt.Errorf("read length of rolling windows: %w", err)
		}
		if err == nil {
			if known.lingers, err = historyOf(entry.Value, entry.At); err != nil {
				return 0, fmt.Errorf("queue %s: %w: %w", queue, ErrRecord, err)
			}
		} else {
			known.lingers = nil
		}
		known.until = at.Add(lingerMemory)
		s.histories.put(queue, known)
	}
	if seconds := lingerAt(known.lingers, at); seconds > 0 {
		return time.Duration(seconds) * time.Second, nil
	}
	return time.Duration(s.base().LingerSeconds) * time.Second, nil
}
