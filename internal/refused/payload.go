package refused

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Fetch looks for e's payload, and for where a rejected row stood. Of a row whose payload is not on the bus any more, Lost says why; an error
// says that the bus could not be asked.
func (r *Reader) Fetch(ctx context.Context, e *Entry) error {
	if e.Kind == DeadLetter {
		return r.open(ctx, e)
	}
	source, ok := hashOf(e.Source)
	if !ok {
		e.Lost = "its result names no source"
		return nil
	}
	marks := map[block.Hash]mark{source: {at: e.At.UnixNano(), standing: e.Standing}}
	for found, err := range r.rows(ctx, e.Queue, e.Job, marks) {
		if err != nil {
			return err
		}
		e.Payload, e.Lost, e.Subject, e.Sequence = found.Payload, found.Lost, found.Subject, found.Sequence
		if e.Line == 0 {
			e.Line = found.Line
		}
	}
	return nil
}

// WithPayloads yields what [Reader.Entries] does, each with its payload or the reason why there is none. Rejected rows come in the order in
// which they were taken, one job after the other.
func (r *Reader) WithPayloads(ctx context.Context, f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := walk{reader: r, yield: yield}
		for e, err := range r.Entries(ctx, f) {
			if !w.take(ctx, &e, err) {
				return
			}
		}
		w.flush(ctx)
	}
}

// walk gathers the rejected rows of one job before it looks for their payloads.
type walk struct {
	reader     *Reader
	yield      func(Entry, error) bool
	queue, job string
	marks      map[block.Hash]mark
}

// mark is what a rejected row's result alone knows.
type mark struct {
	at       int64 // in nanoseconds of Unix
	standing uint64
}

func (w *walk) take(ctx context.Context, e *Entry, err error) (more bool) {
	if err == nil && e.Kind == DeadLetter {
		err = w.reader.open(ctx, e)
	}
	if err != nil || e.Kind == DeadLetter {
		return w.yield(*e, err) && err == nil
	}
	if (w.queue != e.Queue || w.job != e.Job) && !w.flush(ctx) {
		return false
	}
	source, ok := hashOf(e.Source)
	if !ok {
		e.Lost = "its result names no source"
		return w.yield(*e, nil)
	}
	if w.marks == nil {
		w.queue, w.job, w.marks = e.Queue, e.Job, make(map[block.Hash]mark)
	}
	w.marks[source] = mark{at: e.At.UnixNano(), standing: e.Standing}
	return true
}

func (w *walk) flush(ctx context.Context) (more bool) {
	if len(w.marks) == 0 {
		return true
	}
	marks := w.marks
	w.marks = nil
	for e, err := range w.reader.rows(ctx, w.queue, w.job, marks) {
		if !w.yield(e, err) || err != nil {
			return false
		}
	}
	return true
}

// rows yields the rows of a job that marks names, and in the end, with the reason, those that are not there. It empties marks.
func (r *Reader) rows(ctx context.Context, queue, job string, marks map[block.Hash]mark) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for m, err := range r.Bus.Read(ctx, jetstore.StreamRows, events.RowsSubject(queue, job), 1) {
			if err != nil {
				yield(Entry{}, fmt.Errorf("read rows of job %s: %w", job, err))
				return
			}
			if more := r.block(ctx, queue, job, &m, marks, yield); !more || len(marks) == 0 {
				return
			}
		}
		why, err := r.whyLost(ctx, queue, job)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for source, at := range marks {
			e := Entry{Kind: Rejected, Queue: queue, Job: job, Source: source.String(), At: time.Unix(0, at.at).UTC(), Lost: why}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (r *Reader) block(
	ctx context.Context, queue, job string, m *jetstore.Message, marks map[block.Hash]mark, yield func(Entry, error) bool,
) (more bool) {
	for row, err := range block.Read(m.Data) {
		if err != nil {
			return yield(Entry{}, fmt.Errorf("read block %d: %w", m.Sequence, err)) && false
		}
		at, wanted := marks[row.Source]
		if !wanted {
			continue
		}
		delete(marks, row.Source)
		e, err := r.rowOf(ctx, queue, job, m, row, at)
		if !yield(e, err) || err != nil {
			return false
		}
	}
	return true
}

// rowOf is the entry of a rejected row in a block.
func (r *Reader) rowOf(ctx context.Context, queue, job string, m *jetstore.Message, row *block.Entry, at mark) (Entry, error) {
	e := Entry{
		Entry: events.ResultSubject(queue, job, row.CustomID), Kind: Rejected, CustomID: row.CustomID, Queue: queue, Job: job,
		Source: row.Source.String(), Standing: at.standing, At: time.Unix(0, at.at).UTC(),
	}
	if row.Fault != nil {
		e.Code, e.Message, e.Hint, e.Column = row.Fault.Code, row.Fault.Message, row.Fault.Hint, row.Fault.Column
	} else if result, err := r.Bus.Last(ctx, jetstore.StreamResults, e.Entry); err == nil { // refused later: only the result knows why
		if e, err = resultOf(&result); err != nil {
			return e, fmt.Errorf("read rejected result: %w", err)
		}
	} else if !errors.Is(err, jetstore.ErrNotFound) {
		return e, fmt.Errorf("read rejected result: %w", err)
	}
	e.Subject, e.Sequence, e.Line = requestSubject(queue, job), row.Sequence, row.Line
	payload, err := manifest.Original(ctx, r.Bus, m, row)
	if why := gone(err); why != "" {
		e.Lost = why
		return e, nil
	}
	e.Payload = payload
	return e, err
}

// open reads the object that a dead letter names.
func (r *Reader) open(ctx context.Context, e *Entry) error {
	if !e.external {
		return nil
	}
	data, err := r.object(ctx, e.object)
	if why := gone(err); why != "" {
		e.Lost = why
		return nil
	}
	if err != nil {
		return fmt.Errorf("read object of %s: %w", e.Entry, err)
	}
	d, err := events.ParseDeadLetter(data)
	if err != nil {
		return fmt.Errorf("read object of %s: %w", e.Entry, err)
	}
	e.Payload = d.Payload
	return nil
}

func (r *Reader) object(ctx context.Context, o jetstore.Object) ([]byte, error) {
	body, err := r.Bus.OpenObject(ctx, o)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, o.Size+1))
	if int64(len(data)) > o.Size { // it was not read to its end, where the digest is compared
		err = jetstore.ErrDigest
	}
	return data, err
}

// gone puts into words why an object can never be had; empty when err says something else.
func gone(err error) string {
	switch {
	case errors.Is(err, jetstore.ErrObjectMissing):
		return "the object that held it is gone"
	case errors.Is(err, jetstore.ErrDigest):
		return "the object that holds it was altered: its digest is another one"
	}
	return ""
}

// whyLost says why a job's rows are not in the stream.
func (r *Reader) whyLost(ctx context.Context, queue, job string) (string, error) {
	j, err := r.Jobs.Job(ctx, queue, job)
	switch keep := time.Duration(j.Policy.KeepRowsSeconds) * time.Second; {
	case errors.Is(err, jetstore.ErrNotFound):
		return "the job is not known any more", nil
	case err != nil:
		return "", err
	case j.ForgottenAt != nil:
		return "the job was forgotten, and its rows with it", nil
	case j.State == events.JobCompleted:
		return fmt.Sprintf("the job's rows were purged: they are kept for %s after its end, which was %s", keep, j.SinceAt.Format(time.RFC3339)), nil
	}
	return "it is not in BATCHBUS_ROWS: rows were lost, or restored from an older state", nil
}

// requestSubject is where a job's rows were published: those of a rolling job on their queue's own subject.
func requestSubject(queue, job string) string {
	if events.IsRolling(job) {
		job = ""
	}
	return events.RequestSubject(queue, job)
}

func hashOf(source string) (h block.Hash, ok bool) {
	raw, err := hex.DecodeString(source)
	if err != nil || len(raw) != len(h) {
		return h, false
	}
	return block.Hash(raw), true
}
