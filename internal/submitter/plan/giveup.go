package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// givenUp tells whether a person cancelled a job that is held because its rows are gone: who cancels it waits for them no longer.
func givenUp(j *events.Job) bool {
	return j.CancelWanted != nil && j.Hold != nil && j.Hold.Code == events.HoldRowsOlder
}

// unheld ends the hold of a job that was given up, and returns the job as it is then; any other is returned as it is. Its state is put onto the
// blocks that are there: Walked is the last of them that the walk had come to, nothing is cut behind it, the counts are those up to there, and the
// rows that were counted and are gone are LostRows. From there it is walked like any other. A job whose rows are there, held for
// another reason, stays held.
func (d *desk) unheld(ctx context.Context, job jobs.Job) (jobs.Job, error) {
	if !givenUp(&job.Job) {
		return job, nil
	}
	_, gone := errors.AsType[*holdError](d.session(job).recognise(ctx))
	if !gone {
		return job, nil
	}
	old, err := d.survey(ctx, &job)
	if err != nil {
		return job, err
	}
	change := jobs.NewChange(time.Now())
	rebase(&job.Job, old)
	change.Job(&job, events.JobResumed)
	err = d.jobs.Commit(ctx, change)
	if jobs.IsConflict(err) {
		return job, errStale
	}
	if err != nil {
		return job, fmt.Errorf("end hold of a cancelled job: %w", err)
	}
	return job, nil
}

// survey counts the owners in those of the job's blocks which the walk had come to and which are still there. A block of a later time
// than Walked is none of them, whatever its sequence: sequences come again after a restore.
func (d *desk) survey(ctx context.Context, j *jobs.Job) (mark, error) {
	walk := newWalker(&events.Job{Policy: j.Policy, State: events.JobOpen, CancelWanted: j.CancelWanted, Groups: j.Groups})
	for m, err := range d.rows.Read(ctx, jetstore.StreamRows, events.RowsSubject(j.Queue, j.Name()), 1) {
		if err != nil {
			return mark{}, fmt.Errorf("look for the blocks that are there: %w", err)
		}
		if m.Sequence > j.Walked.Sequence || m.At.After(j.Walked.At) {
			break
		}
		if err := walk.count(&m); err != nil {
			return mark{}, fmt.Errorf("read block %d that is there: %w", m.Sequence, err)
		}
	}
	return walk.mark, nil
}

// count walks a block for the counts alone.
func (w *walker) count(m *jetstore.Message) error {
	if expected, sealed := block.ReadSeal(m.Data); sealed {
		w.sealWith(sealing{at: m.At, expected: expected, sequence: block.SealSequence(m.Data)})
	} else {
		index := -1
		for e, err := range block.Read(m.Data) {
			if err != nil {
				return err
			}
			index++
			w.row(e, events.RowPlace{Sequence: m.Sequence, Index: index})
		}
	}
	w.end(events.Place{Sequence: m.Sequence, At: m.At})
	return nil
}

// rebase puts the state onto what old found. The counts of a fully planned job are final, so they stay.
func rebase(j *events.Job, old mark) {
	j.Hold, j.Walked = nil, old.place
	if j.State != events.JobOpen {
		return
	}
	j.LostRows = max(j.Rows-old.rows, 0)
	j.Rows, j.Rejected, j.CancelledRows = old.rows+j.LostRows, old.rejected, old.cancelled
	groups := make([]events.Group, len(j.Groups))
	for i, g := range j.Groups {
		if g.Cut.Sequence > old.place.Sequence {
			g.Cut = events.RowPlace{Sequence: old.place.Sequence, Index: 1<<indexBits - 1}
		}
		groups[i] = g
	}
	j.Groups = groups
}
