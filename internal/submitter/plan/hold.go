package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// holdError says that a job cannot be planned until a person or the world has changed something.
type holdError struct{ code, message string }

func (e *holdError) Error() string { return "hold " + e.code + ": " + e.message }

// explain turns an error that no repetition changes into a holdError. at is the timestamp of the block that it is about.
func (s *session) explain(err error, at time.Time) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, block.ErrCorrupt), errors.Is(err, manifest.ErrRowsGone):
		return &holdError{code: events.HoldRowsOlder, message: err.Error()}
	case errors.Is(err, jetstore.ErrDigest), errors.Is(err, jetstore.ErrObjectMissing):
		if time.Since(at) > s.patience {
			return &holdError{code: events.HoldManifestMissing, message: err.Error()}
		}
	case errors.Is(err, jetstore.ErrTooBig):
		return &holdError{code: events.HoldPublish, message: err.Error()}
	}
	return err
}

// hold stores why the job waits. One that was changed meanwhile is left as it is: errStale.
func (d *desk) hold(ctx context.Context, job jobs.Job, why *holdError) error {
	change := jobs.NewChange(time.Now())
	job.Hold = &events.Hold{Code: why.code, Message: cutText(why.message), At: change.At()}
	change.Job(&job, events.JobHeld)
	err := d.jobs.Commit(ctx, change)
	if jobs.IsConflict(err) {
		return errStale
	}
	if err != nil {
		return fmt.Errorf("store hold: %w", err)
	}
	return nil
}

// cutText keeps a text in a state under 1 KiB (design.md section 4).
func cutText(text string) string { return text[:min(len(text), 1<<10)] }
