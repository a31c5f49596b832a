package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

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

// run uploads the file and returns its id. After an error a file may exist that nothing names and that costs nothing.
func (u *uploading) run(ctx context.Context) (string, error) {
	entries, err := manifest.Load(ctx, u.bus, u.batch.Manifest)
	if err != nil {
		return "", err
	}
	file, err := u.provider.UploadFile(ctx, u.name, func(w io.Writer) error { return u.write(ctx, w, entries) })
	if err != nil {
		return "", fmt.Errorf("upload file: %w", err)
	}
	return file.ID, nil
}

// write streams the lines, each with its newline, and fails at the end when they are not what was planned: that breaks the upload off.
func (u *uploading) write(ctx context.Context, w io.Writer, entries []manifest.Entry) error {
	var (
		buffer = make([]byte, 0, uploadBuffer+uploadBuffer/4)
		digest = manifest.NewDigest(u.batch.GroupKey)
		rows   int
		bytes  int64
	)
	for row, err := range manifest.Rows(ctx, u.bus, u.batch.Queue, u.batch.Job, entries) {
		if err != nil {
			return err
		}
		digest.Add(row.CustomID, row.Row)
		buffer = manifest.AppendLine(buffer, row.Place, row.Entry, u.batch.OpaqueIDs)
		rows++
		if len(buffer) < uploadBuffer {
			continue
		}
		bytes += int64(len(buffer))
		if _, err := w.Write(buffer); err != nil {
			return fmt.Errorf("write lines: %w", err)
		}
		buffer = buffer[:0]
	}
	bytes += int64(len(buffer))
	if rows != u.batch.Rows || bytes != u.batch.Bytes || digest.Sum() != u.batch.Digest {
		return fmt.Errorf("%d rows of %d and %d bytes of %d: %w", rows, u.batch.Rows, bytes, u.batch.Bytes, errOtherRows)
	}
	if _, err := w.Write(buffer); err != nil {
		return fmt.Errorf("write lines: %w", err)
	}
	return nil
}

// upload brings a planned batch to uploaded.
func (d *drive) upload(ctx context.Context) (step, error) {
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
	d.log.Warn().Err(err).Str("why", v.why).Str("code", v.code).Msg("upload failed")
	switch v.cure {
	case cureHold:
		return step{done: true}, d.hold(ctx, v.code, err.Error())
	case cureRetry:
		return d.uploadLater(ctx, v, err)
	default:
		return d.refuse(ctx, v, err)
	}
}

func (d *drive) uploadLater(ctx context.Context, v verdict, err error) (step, error) {
	d.memory.refusals++
	next := step{delay: v.delay, why: v.why}
	var kinds []events.Kind
	if d.memory.refusals == alarmFailures {
		kinds = append(kinds, events.BatchNeedsAttention)
	}
	return next, d.note(ctx, d.waiting(v.why, err, v.delay), kinds...)
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
