package jetstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"
)

const (
	// pageBytes bounds what one request of Read brings into memory (and a message may overshoot it once).
	pageBytes = 8 << 20
	// pageMessages bounds a page of small messages.
	pageMessages = 8192
)

// Read yields every message on the filter with a sequence of at least from, in order, up to the newest one at the time of
// the call; later ones may follow. It reads page by page from whichever replica answers, with at most [pageBytes] in
// memory, and makes no consumer. A replica that lags is asked again, so what is yielded has no gap and no missing tail,
// except for messages purged meanwhile. It repeats what can be repeated until ctx ends; the last pair of a loop that ends early
// carries the error. Stopping the loop early costs nothing. The stream must allow direct gets (StreamRequests does not).
func (s *Store) Read(ctx context.Context, stream, filter string, from uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		r := reader{store: s, stream: stream, filter: filter, next: max(from, 1)}
		if err := r.run(ctx, func(m Message) bool { return yield(m, nil) }); err != nil {
			yield(Message{}, fmt.Errorf("read %s of %s: %w", filter, stream, err))
		}
	}
}

type reader struct {
	store          *Store
	stream, filter string
	next           uint64 // everything below was yielded
}

func (r *reader) run(ctx context.Context, yield func(Message) bool) error {
	end, err := r.end(ctx)
	for pause := newPause(); err == nil && r.next <= end; {
		before := r.next
		more, pageErr := r.page(ctx, yield)
		if !more {
			return nil
		}
		if r.next > before {
			pause = newPause()
			continue
		}
		if pageErr != nil && Classify(pageErr) != Again {
			return pageErr
		}
		if pause.wait(ctx) != nil {
			return errors.Join(ctx.Err(), pageErr)
		}
		end, err = r.end(ctx) // nothing came: the replica lags, or the rest was purged
	}
	return err
}

// end is the newest sequence on the filter by the leader's word; 0 when there is none.
func (r *reader) end(ctx context.Context) (uint64, error) {
	last, err := r.store.Last(ctx, r.stream, r.filter)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return last.Sequence, err
}

// page yields one page and moves next behind it. More is false when the loop was stopped. A page can be cut short anywhere
// by a lost reply; that only makes the next one start earlier.
func (r *reader) page(ctx context.Context, yield func(Message) bool) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	messages, err := jetstreamext.GetBatch(ctx, r.store.js, r.stream, pageMessages, jetstreamext.GetBatchSeq(r.next),
		jetstreamext.GetBatchSubject(r.filter), jetstreamext.GetBatchMaxBytes(pageBytes))
	if err != nil {
		return true, fmt.Errorf("get page: %w", err)
	}
	var previous uint64
	for raw, err := range messages {
		if errors.Is(err, jetstreamext.ErrNoMessages) || err == nil && gap(raw, previous) {
			return true, nil
		}
		if err != nil {
			return true, pageError(err)
		}
		previous, r.next = raw.Sequence, raw.Sequence+1
		if !yield(messageOf(raw)) {
			return false, nil
		}
	}
	return true, nil
}

// gap tells by the server's own chain of sequences that a message of the page got lost on the way.
func gap(raw *jetstream.RawStreamMsg, previous uint64) bool {
	text := raw.Header.Get(jetstream.LastSequenceHeader)
	last, err := strconv.ParseUint(text, 10, 64)
	return err == nil && last != previous
}

// pageError makes an answer that is no page, such as "no responders" during an election, one that is asked for again.
func pageError(err error) error {
	if errors.Is(err, jetstreamext.ErrBatchUnsupported) || errors.Is(err, jetstreamext.ErrInvalidResponse) {
		return fmt.Errorf("%w: %w", nats.ErrNoResponders, err)
	}
	return err
}

// messageOf takes off the headers that the direct get adds to a message.
func messageOf(raw *jetstream.RawStreamMsg) Message {
	for _, name := range []string{
		jetstream.StreamHeader, jetstream.SubjectHeader, jetstream.SequenceHeader, jetstream.LastSequenceHeader,
		jetstream.TimeStampHeaer, "Nats-Num-Pending", "Nats-UpTo-Sequence",
	} {
		raw.Header.Del(name)
	}
	return Message{Subject: raw.Subject, Header: raw.Header, Data: raw.Data, Sequence: raw.Sequence, At: raw.Time}
}

// SubjectCounts is the number of messages on each subject of the filter, by the leader's word. It holds one entry a
// subject in memory.
func (s *Store) SubjectCounts(ctx context.Context, stream, filter string) (map[string]uint64, error) {
	handle, err := s.js.Stream(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("count subjects of %s: %w", stream, err)
	}
	info, err := handle.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, fmt.Errorf("count subjects of %s: %w", stream, err)
	}
	return info.State.Subjects, nil
}

// Purge deletes the messages on a subject, which may have wildcards, up to and including a sequence; 0 means all of them.
// It is idempotent. After an error they may be deleted or not.
func (s *Store) Purge(ctx context.Context, stream, subject string, upTo uint64) error {
	request := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(subject)}
	if upTo > 0 {
		request = append(request, jetstream.WithPurgeSequence(upTo+1)) // the server's bound is exclusive
	}
	handle, err := s.js.Stream(ctx, stream)
	if err != nil {
		return fmt.Errorf("purge %s of %s: %w", subject, stream, err)
	}
	if err := handle.Purge(ctx, request...); err != nil {
		return fmt.Errorf("purge %s of %s: %w", subject, stream, err)
	}
	return nil
}
