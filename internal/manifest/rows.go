package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// ErrRowsGone is returned when ROWS does not hold a row that a manifest names: it was purged, or the bus is older than its own state.
var ErrRowsGone = errors.New("rows that the manifest names are not in the stream")

// Bus is what this package needs of the store.
type Bus interface {
	Read(ctx context.Context, stream, subjectFilter string, from uint64) iter.Seq2[jetstore.Message, error]
	PutObject(ctx context.Context, stream, subject string, r io.Reader) (jetstore.Object, error)
	OpenObject(ctx context.Context, o jetstore.Object) (io.ReadCloser, error)
}

// Store stores the manifest of the batch with the given key as an object with a fresh name. When it fails the object may stand there:
// nothing names it, and the sweeper takes it.
func Store(ctx context.Context, bus Bus, batchKey string, entries []Entry) (events.ObjectRef, error) {
	object, err := bus.PutObject(ctx, jetstore.StreamJobs, jetstore.KeySubject(batchKey), bytes.NewReader(Encode(entries)))
	if err != nil {
		return events.ObjectRef{}, fmt.Errorf("store manifest of %s: %w", batchKey, err)
	}
	return events.ObjectRef{Name: object.Name, Digest: object.Digest, Size: object.Size}, nil
}

// Load reads the manifest that a batch names. Errors wrap [jetstore.ErrObjectMissing], [jetstore.ErrDigest] or [ErrCorrupt] when the
// object is not what the batch says; anything else is worth another try.
func Load(ctx context.Context, bus Bus, ref events.ObjectRef) ([]Entry, error) {
	r, err := bus.OpenObject(ctx, jetstore.Object{Name: ref.Name, Digest: ref.Digest, Size: ref.Size})
	if err != nil {
		return nil, fmt.Errorf("open manifest: %w", err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, ref.Size+1))
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return Decode(data)
}

// Placed is a row and its place in the manifest, from 0.
type Placed struct {
	Place int
	*block.Entry
}

// Rows yields the rows that entries, in ascending order of [Entry].Place, name in the job's blocks, with their payloads, whose bytes live
// until the next step. It ends after the first error; a row that is not there, or another one where it should be, is [ErrRowsGone].
func Rows(ctx context.Context, bus Bus, queue, job string, entries []Entry) iter.Seq2[Placed, error] {
	return func(yield func(Placed, error) bool) {
		w := walk{entries: entries, yield: yield}
		if len(entries) == 0 {
			return
		}
		for message, err := range bus.Read(ctx, jetstore.StreamRows, events.RowsSubject(queue, job), entries[0].Place.Sequence) {
			if err != nil {
				w.fail(fmt.Errorf("read rows: %w", err))
				return
			}
			if !w.block(ctx, bus, &message) || w.next == len(entries) {
				return
			}
		}
		w.gone()
	}
}

// walk is one pass of Rows: next is the first place that is not yielded yet.
type walk struct {
	entries []Entry
	next    int
	yield   func(Placed, error) bool
}

// block yields what the manifest names of one block, and tells whether to go on.
func (w *walk) block(ctx context.Context, bus Bus, message *jetstore.Message) bool {
	switch want := w.entries[w.next].Place.Sequence; {
	case message.Sequence < want:
		return true
	case message.Sequence > want:
		return w.gone()
	}
	data, err := Payload(ctx, bus, message)
	if err != nil {
		return w.fail(err)
	}
	index := -1
	for row, err := range block.Read(data) {
		if err != nil {
			return w.fail(fmt.Errorf("read block %d: %w", message.Sequence, err))
		}
		index++
		e := &w.entries[w.next]
		if e.Place.Index != index {
			continue
		}
		if e.Row != row.Row || row.Fault != nil {
			return w.gone()
		}
		if !w.yield(Placed{Place: w.next, Entry: row}, nil) {
			return false
		}
		w.next++
		if w.next == len(w.entries) || w.entries[w.next].Place.Sequence != message.Sequence {
			return true
		}
	}
	return w.gone()
}

func (w *walk) gone() bool {
	place := w.entries[w.next].Place
	return w.fail(fmt.Errorf("find row at %d.%d: %w", place.Sequence, place.Index, ErrRowsGone))
}

func (w *walk) fail(err error) bool {
	w.yield(Placed{Place: w.next}, err)
	return false
}

// Payload is a block's bytes, whole: the message's own, or the object that it names.
func Payload(ctx context.Context, bus Bus, message *jetstore.Message) ([]byte, error) {
	object, external := jetstore.ObjectOf(message.Header)
	if !external {
		return message.Data, nil
	}
	r, err := bus.OpenObject(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("open object of block %d: %w", message.Sequence, err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, object.Size+1))
	if err != nil {
		return nil, fmt.Errorf("read object of block %d: %w", message.Sequence, err)
	}
	return data, nil
}
