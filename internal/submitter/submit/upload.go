package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// uploadBuffer is how many bytes of lines are gathered before they are written: rows are small, and each write goes through a pipe.
const uploadBuffer = 128 << 10

// errOtherRows is returned when ROWS yields other rows than were planned.
var errOtherRows = errors.New("the stream's rows are not those that were planned")

// uploading is one upload of a batch's input file. It holds a copy of the state: the fence is renewed beside it.
type uploading struct {
	bus      *jetstore.Store
	provider Files
	batch    events.Batch
	name     string
}

func (d *drive) uploading() *uploading {
	attempt := max(d.batch.Attempt, 1)
	return &uploading{
		bus: d.config.Bus, provider: d.provider, batch: d.batch.Batch, name: fileName(d.config.BusID, &d.batch.Batch, attempt),
	}
}

// run uploads the file and returns its id. After an error a file may exist that nothing names and that costs nothing. An error of the rows goes
// before the provider's, which may be no more than its word for a file that broke off.
func (u *uploading) run(ctx context.Context) (string, error) {
	entries, err := manifest.Load(ctx, u.bus, u.batch.Manifest)
	if err != nil {
		return "", err
	}
	return u.send(ctx, func(out *lines) error { return u.write(ctx, out, entries) })
}

// part uploads the lines of the places [from, to), each as it stands in the whole file.
func (u *uploading) part(ctx context.Context, entries []manifest.Entry, from, to int) (string, error) {
	return u.send(ctx, func(out *lines) error {
		for row, err := range manifest.Rows(ctx, u.bus, u.batch.Queue, u.batch.Job, entries[from:to]) {
			if err != nil {
				return err
			}
			if !out.add(from+row.Place, row.Entry, u.batch.OpaqueIDs) {
				return nil
			}
		}
		out.flush()
		return nil
	})
}

// control uploads one line that is no row of the batch. Like a part, its file has the batch's name, so that the sweep finds it after a crash.
func (u *uploading) control(ctx context.Context, line []byte) (string, error) {
	return u.send(ctx, func(out *lines) error {
		out.buffer = append(out.buffer, line...)
		out.flush()
		return nil
	})
}

// send uploads what write writes; an error of write goes before the provider's.
func (u *uploading) send(ctx context.Context, write func(*lines) error) (string, error) {
	var source error
	file, err := u.provider.UploadFile(ctx, u.name, func(w io.Writer) error {
		out := &lines{to: w, buffer: make([]byte, 0, uploadBuffer+uploadBuffer/4)}
		source = write(out)
		return errors.Join(source, out.err)
	})
	if source != nil {
		return "", source
	}
	if err != nil {
		return "", fmt.Errorf("upload file: %w", err)
	}
	return file.ID, nil
}

// write streams the lines, each with its newline, and fails at the end when they are not what was planned: that breaks the upload off. Its
// error is never the writer's.
func (u *uploading) write(ctx context.Context, out *lines, entries []manifest.Entry) error {
	digest := manifest.NewDigest(u.batch.GroupKey)
	rows := 0
	for row, err := range manifest.Rows(ctx, u.bus, u.batch.Queue, u.batch.Job, entries) {
		if err != nil {
			return err
		}
		digest.Add(row.CustomID, row.Row)
		rows++
		if !out.add(row.Place, row.Entry, u.batch.OpaqueIDs) {
			return nil
		}
	}
	size := out.written + int64(len(out.buffer))
	if rows != u.batch.Rows || size != u.batch.Bytes || digest.Sum() != u.batch.Digest {
		return fmt.Errorf("%d rows of %d and %d bytes of %d: %w", rows, u.batch.Rows, size, u.batch.Bytes, errOtherRows)
	}
	out.flush()
	return nil
}

// lines gathers lines for a writer. err is the writer's, and sticky.
type lines struct {
	to      io.Writer
	buffer  []byte
	written int64
	err     error
}

// add adds a row's line, and tells whether the writer goes on taking them.
func (l *lines) add(place int, e *block.Entry, opaque bool) bool {
	l.buffer = manifest.AppendLine(l.buffer, place, e, opaque)
	return len(l.buffer) < uploadBuffer || l.flush()
}

// flush hands the buffer on, and tells whether the writer took it.
func (l *lines) flush() bool {
	if l.err == nil {
		_, l.err = l.to.Write(l.buffer)
	}
	l.written += int64(len(l.buffer))
	l.buffer = l.buffer[:0]
	return l.err == nil
}

// upload brings a planned batch to uploaded. One that is known to be too large is not tried.
func (d *drive) upload(ctx context.Context) (step, error) {
	if l := d.limits.of(d.batch.Key, time.Now()); d.batch.Rows > 1 && l.refuses(d.batch.Rows, d.batch.Bytes) {
		return d.split(ctx, l)
	}
	id, err := d.uploading().run(ctx)
	if err != nil {
		return d.notUploaded(ctx, err)
	}
	d.memory.refusals = 0
	err = d.enter(ctx, events.BatchUploaded, func(b *events.Batch, _ time.Time) {
		b.FileID, b.Attempt = id, max(b.Attempt, 1)
	}, events.BatchIsUploaded)
	if jobs.IsConflict(err) {
		d.dropFile(ctx, id)
	}
	return step{}, err
}

// notUploaded is an upload that failed, which cost nothing.
func (d *drive) notUploaded(ctx context.Context, err error) (step, error) {
	if ctx.Err() != nil {
		return step{}, ctx.Err()
	}
	if jobs.IsConflict(err) || isUnknown(err) {
		return step{}, err // the fence is lost, or may be
	}
	v := judgeUpload(err, d.batch.Rows, d.memory.refusals)
	d.logFailure("upload failed", v, err)
	fencing := d.batch.State == events.BatchFencing
	switch {
	case v.cure == cureRetry:
		return d.uploadLater(ctx, v, err)
	case v.cure == cureHoldQueue:
		return d.holdQueue(ctx, v, err)
	case fencing && d.memory.fence.provenAt.IsZero(): // the old file may be there yet, and a POST that names it may come
		return step{done: true}, d.hold(ctx, events.HoldFence, "the upload that has to prove the deletion of "+d.batch.FileID+" is refused")
	case v.cure == cureHold, v.cure == cureSearch && fencing: // it was taken before, so the rows are not at fault
		return step{done: true}, d.hold(ctx, v.code, err.Error())
	case v.cure == cureSearch:
		return d.search(ctx, err)
	case v.cure == cureSplit:
		told := toldBy(err, &d.batch.Batch)
		d.limits.learn(d.batch.Key, told, time.Now())
		return d.split(ctx, told)
	default:
		return d.refuse(ctx, v, err)
	}
}

func (d *drive) uploadLater(ctx context.Context, v verdict, err error) (step, error) {
	d.memory.refusals++
	return step{delay: v.delay, why: v.why}, d.note(ctx, d.waiting(v.why, err, v.delay))
}

// dropFile deletes a file that only this process knows and that no POST has named. Failing costs nothing.
func (d *drive) dropFile(ctx context.Context, id string) {
	if id == "" || !d.key || !d.provider.Capabilities().DeleteFile {
		return
	}
	if _, err := d.provider.DeleteFile(ctx, id); err != nil && doubleword.ClassOf(err) != 0 {
		d.log.Debug().Err(err).Str("file", id).Msg("unused file not deleted")
	}
}
