package jetstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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
//
// jetstreamext.GetBatch does the same under an inbox that the connection's own reply subscription matches too, so that
// every message crosses the wire twice (measured), and it ends silently at a timeout.
func (r *reader) page(ctx context.Context, yield func(Message) bool) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answers, err := r.request()
	if err != nil {
		return true, err
	}
	defer func() { _ = answers.Unsubscribe() }() // fails only with the connection
	for previous := uint64(0); ; previous = r.next - 1 {
		answer, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return true, fmt.Errorf("get page: %w", err)
		}
		if status := answer.Header.Get("Status"); status != "" && len(answer.Data) == 0 {
			return true, pageEnd(status)
		}
		m, last, err := messageOf(answer)
		if err != nil || last != previous { // a message of the page got lost on the way
			return true, err
		}
		r.next = m.Sequence + 1
		if !yield(m) {
			return false, nil
		}
	}
}

func (r *reader) request() (*nats.Subscription, error) {
	query, err := json.Marshal(map[string]any{"seq": r.next, "next_by_subj": r.filter, "batch": pageMessages, "max_bytes": pageBytes})
	if err != nil {
		return nil, fmt.Errorf("encode query: %w", err)
	}
	answers, err := r.store.nc.SubscribeSync(r.store.nc.NewInbox())
	if err != nil {
		return nil, fmt.Errorf("subscribe to page: %w", err)
	}
	if err := r.store.nc.PublishRequest(r.store.api("DIRECT.GET."+r.stream), answers.Subject, query); err != nil {
		return nil, errors.Join(fmt.Errorf("ask for page: %w", err), answers.Unsubscribe())
	}
	return answers, nil
}

// pageEnd is the meaning of an answer without a message: the end of the page, no message at all, nobody there.
func pageEnd(status string) error {
	switch status {
	case "204", "404":
		return nil
	case "503":
		return nats.ErrNoResponders
	default:
		return fmt.Errorf("get page: %w with status %s", jetstream.ErrInvalidOption, status)
	}
}

// messageOf takes off the headers that the direct get adds to a message; last is the sequence before it in the page. A message that somebody
// published with such headers (a copy of one that was got) has them twice: the server's own come last.
func messageOf(answer *nats.Msg) (m Message, last uint64, err error) {
	h := answer.Header
	added := func(name string) string {
		values := h.Values(name)
		if len(values) == 0 {
			return ""
		}
		return values[len(values)-1]
	}
	m = Message{Subject: added(jetstream.SubjectHeader), Header: h, Data: answer.Data}
	var errs [3]error
	m.Sequence, errs[0] = strconv.ParseUint(added(jetstream.SequenceHeader), 10, 64)
	last, errs[1] = strconv.ParseUint(added(jetstream.LastSequenceHeader), 10, 64)
	m.At, errs[2] = time.Parse(time.RFC3339Nano, added(jetstream.TimeStampHeaer))
	for _, name := range []string{
		jetstream.StreamHeader, jetstream.SubjectHeader, jetstream.SequenceHeader, jetstream.LastSequenceHeader,
		jetstream.TimeStampHeaer, "Nats-Num-Pending",
	} {
		h.Del(name)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return m, 0, fmt.Errorf("read answer of direct get: %w: %w", jetstream.ErrInvalidOption, err)
	}
	return m, last, nil
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
	defer s.on(VerbPurge, subject)()
	return s.purge(ctx, stream, subject, upTo)
}

func (s *Store) purge(ctx context.Context, stream, subject string, upTo uint64) error {
	request := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(subject)}
	if upTo > 0 {
		request = append(request, jetstream.WithPurgeSequence(upTo+1)) // the server's bound is exclusive
	}
	handle, err := s.js.Stream(ctx, stream)
	if err == nil {
		err = s.holds(ctx)
	}
	if err != nil {
		return fmt.Errorf("purge %s of %s: %w", subject, stream, err)
	}
	if err := handle.Purge(ctx, request...); err != nil {
		return fmt.Errorf("purge %s of %s: %w", subject, stream, err)
	}
	return nil
}
