package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

var errInjected = errors.New("injected crash")

// memoryBus is a bus in memory with the store's rules: compare-and-set of several keys at once, one message a subject. before is called
// ahead of each operation and may do what another process does meanwhile, or return an error, which leaves the operation undone.
type memoryBus struct {
	mu       sync.Mutex
	rows     []jetstore.Message
	objects  map[string][]byte
	names    []string                    // of the objects, in the order in which they were stored
	stream   map[string]jetstore.Message // the newest of each subject: states, events, results, dead letters
	sequence uint64
	before   func(op string) error
	deaf     int // so many commits get no answer before their ctx ends
}

func newMemoryBus() *memoryBus {
	return &memoryBus{objects: make(map[string][]byte), stream: make(map[string]jetstore.Message)}
}

func (b *memoryBus) enter(op string) error {
	if b.before != nil {
		if err := b.before(op); err != nil {
			return err
		}
	}
	b.mu.Lock()
	return nil
}

func (b *memoryBus) planner() *Planner {
	c := Config{Jobs: jobs.New(b)}
	c.Policy = func(context.Context, string) (events.Policy, error) { return events.DefaultPolicy(), nil }
	return &Planner{Config: c, seats: newSeats(), desk: &desk{
		rows: b, blocks: b, fit: b, jobs: c.Jobs, patience: time.Hour, manifestAge: time.Hour,
		newWindow: func() window { return &memoryWindow{bus: b} },
	}}
}

func (b *memoryBus) addBlock(queue, job string, data []byte) uint64 {
	sequence := uint64(len(b.rows))*2 + 1 // other jobs' blocks lie between
	b.rows = append(b.rows, jetstore.Message{
		Subject: events.RowsSubject(queue, job), Data: bytes.Clone(data), Sequence: sequence, At: time.Unix(int64(sequence), 7).UTC(),
	})
	return sequence
}

func (b *memoryBus) Anchor(ctx context.Context) context.Context { return ctx }

func (b *memoryBus) Read(_ context.Context, _, _ string, from uint64) iter.Seq2[jetstore.Message, error] {
	return func(yield func(jetstore.Message, error) bool) {
		for _, m := range b.rows {
			if m.Sequence < from {
				continue
			}
			if b.before != nil {
				if err := b.before("read"); err != nil {
					yield(jetstore.Message{}, err)
					return
				}
			}
			m.Data = bytes.Clone(m.Data)
			more := yield(m, nil)
			clear(m.Data) // what is read is gone after the step
			if !more {
				return
			}
		}
	}
}

func (b *memoryBus) At(_ context.Context, _ string, sequence uint64) (jetstore.Message, error) {
	for _, m := range b.rows {
		if m.Sequence == sequence {
			return m, nil
		}
	}
	return jetstore.Message{}, jetstore.ErrNotFound
}

func (b *memoryBus) Last(_ context.Context, stream, subject string) (jetstore.Message, error) {
	if err := b.enter("last"); err != nil {
		return jetstore.Message{}, err
	}
	defer b.mu.Unlock()
	if stream == jetstore.StreamRows && len(b.rows) > 0 {
		return b.rows[len(b.rows)-1], nil
	}
	m, found := b.stream[subject]
	if !found {
		return jetstore.Message{}, jetstore.ErrNotFound
	}
	return m, nil
}

func (b *memoryBus) PutObject(_ context.Context, _, subject string, r io.Reader) (jetstore.Object, error) {
	if err := b.enter("put"); err != nil {
		return jetstore.Object{}, err
	}
	defer b.mu.Unlock()
	data, err := io.ReadAll(r)
	b.sequence++
	name := fmt.Sprintf("%s/%d", subject, b.sequence)
	b.objects[name] = data
	b.names = append(b.names, name)
	return jetstore.Object{Name: name, Size: int64(len(data))}, err
}

func (b *memoryBus) OpenObject(_ context.Context, o jetstore.Object) (io.ReadCloser, error) {
	data, found := b.objects[o.Name]
	if !found {
		return nil, jetstore.ErrObjectMissing
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (b *memoryBus) Fit(_ context.Context, _ string, m *nats.Msg, _ []byte) (*nats.Msg, error) {
	return m, nil
}

func (b *memoryBus) Get(_ context.Context, key string) (jetstore.Entry, error) {
	if err := b.enter("get"); err != nil {
		return jetstore.Entry{}, err
	}
	defer b.mu.Unlock()
	m, found := b.stream[jetstore.KeySubject(key)]
	if !found {
		return jetstore.Entry{}, jetstore.ErrNotFound
	}
	return jetstore.Entry{Key: key, Value: m.Data, Revision: m.Sequence}, nil
}

func (b *memoryBus) EntriesFrom(_ context.Context, prefix string, from uint64) iter.Seq2[jetstore.Entry, error] {
	return func(yield func(jetstore.Entry, error) bool) {
		for subject, m := range b.stream {
			key, ours := strings.CutPrefix(subject, jetstore.KeySubject(""))
			if ours && m.Sequence >= from && strings.HasPrefix(key, prefix) &&
				!yield(jetstore.Entry{Key: key, Value: m.Data, Revision: m.Sequence}, nil) {
				return
			}
		}
	}
}

func (b *memoryBus) Commit(ctx context.Context, changes ...jetstore.Change) ([]uint64, error) {
	if b.deaf > 0 {
		b.deaf--
		<-ctx.Done()
		return nil, jetstore.ErrUnknown
	}
	if err := b.enter("commit"); err != nil {
		return nil, err
	}
	defer b.mu.Unlock()
	for _, c := range changes {
		if b.stream[c.Subject].Sequence != c.Expect {
			return nil, jetstore.ErrConflict
		}
	}
	revisions := make([]uint64, len(changes))
	for i, c := range changes {
		b.sequence++
		b.stream[c.Subject] = jetstore.Message{Subject: c.Subject, Data: c.Value, Sequence: b.sequence}
		revisions[i] = b.sequence
	}
	return revisions, nil
}

// memoryWindow stores at the flush; a crash before that loses what is under way.
type memoryWindow struct {
	bus     *memoryBus
	pending []*nats.Msg
}

func (w *memoryWindow) PublishOnce(_ context.Context, m *nats.Msg, _ func(jetstore.Ack)) error {
	w.pending = append(w.pending, m)
	return nil
}

func (w *memoryWindow) Flush(context.Context) error {
	for len(w.pending) > 0 {
		if err := w.bus.enter("publish"); err != nil {
			return err
		}
		m := w.pending[0]
		w.pending = w.pending[1:]
		if _, stands := w.bus.stream[m.Subject]; !stands {
			w.bus.sequence++
			w.bus.stream[m.Subject] = jetstore.Message{Subject: m.Subject, Header: m.Header, Data: bytes.Clone(m.Data), Sequence: w.bus.sequence}
		}
		w.bus.mu.Unlock()
	}
	return nil
}

func (b *memoryBus) batches(queue, job string) (found []events.Batch, rows map[string][]manifest.Entry, err error) {
	rows = make(map[string][]manifest.Entry)
	for batch, err := range jobs.New(b).Batches(context.Background(), queue, job) {
		if err != nil {
			return nil, nil, err
		}
		found = append(found, batch.Batch)
		rows[batch.N], err = manifest.Load(context.Background(), b, batch.Manifest)
		if err != nil {
			return nil, nil, err
		}
	}
	return found, rows, nil
}
