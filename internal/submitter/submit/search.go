package submit

import (
	"context"
	"errors"
	"net/http"

	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// controls is how many single rows are tried, spread over the file, to see whether the account takes any file at all.
const controls = 5

var (
	// errNoneTaken is returned when no row alone is taken: nothing shows that the refusal is about one.
	errNoneTaken = errors.New("no row is taken alone")
	// errAllTaken is returned when the search comes to a row that is taken alone: the rows are too much together, or the refusal has gone.
	errAllTaken = errors.New("each part is taken")
)

// namesNothing reports whether a refusal may be about a row, and says neither which nor that it is about something else.
func namesNothing(err error) bool {
	e, ok := errors.AsType[*doubleword.Error](err)
	return ok && doubleword.RefusalOf(err) == doubleword.RefusedOther &&
		(e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
}

// findRow finds a row for which a file of rows is refused by trying parts of it: try uploads the rows [from, to) and returns the provider's
// refusal. It returns the row with the refusal of the row alone, which came before *and* after another row was taken alone: a refusal that is
// about the account, and not about a row, rejects nothing, even when it begins or ends meanwhile. At most [controls] + log2(rows) + 3 parts
// are tried, which have hardly more rows together than the file. Errors: errNoneTaken, errAllTaken, or a failure of try that is no such
// refusal.
func findRow(rows int, try func(from, to int) error) (row int, refusal, err error) {
	taken, err := takenAlone(rows, try)
	if err != nil {
		return 0, nil, err
	}
	from, to := 0, rows
	for to-from > 1 {
		middle := from + (to-from)/2
		switch err := try(from, middle); {
		case err == nil:
			from = middle
		case namesNothing(err):
			to = middle
		default:
			return 0, nil, err
		}
	}
	refusal, err = refusedAlone(from, taken, try)
	return from, refusal, err
}

// takenAlone returns a row that is taken alone.
func takenAlone(rows int, try func(from, to int) error) (row int, err error) {
	tries := min(controls, rows)
	for i := range tries {
		row = i * (rows - 1) / max(tries-1, 1)
		if err := try(row, row+1); err == nil || !namesNothing(err) {
			return row, err
		}
	}
	return 0, errNoneTaken
}

// refusedAlone returns the provider's refusal of a row, after which it still takes the other one, and once more refuses the row.
func refusedAlone(row, taken int, try func(from, to int) error) (refusal, err error) {
	switch err := try(row, row+1); {
	case err == nil:
		return nil, errAllTaken
	case !namesNothing(err):
		return nil, err
	case row == taken:
		return nil, errNoneTaken
	}
	switch err := try(taken, taken+1); {
	case err == nil:
	case namesNothing(err):
		return nil, errNoneTaken
	default:
		return nil, err
	}
	switch err := try(row, row+1); {
	case err == nil:
		return nil, errAllTaken
	case namesNothing(err):
		return err, nil
	default:
		return nil, err
	}
}

// search looks for the row for which the provider refused the file with cause. Uploads cost nothing, no state changes meanwhile, and the files
// are deleted at once: a death leaves nothing but the search to be begun again, and a file for the sweep.
func (d *drive) search(ctx context.Context, cause error) (step, error) {
	entries, err := manifest.Load(ctx, d.config.Bus, d.batch.Manifest)
	if err != nil {
		return d.unreadable(ctx, err)
	}
	row, refusal, err := d.oddRow(ctx, entries)
	d.log.Warn().AnErr("end", whyNoRow(err)).Int("line", row+1).Msg("searched for the row that the upload is refused for")
	switch {
	case ctx.Err() != nil:
		return step{}, ctx.Err()
	case errors.Is(err, errNoneTaken):
		return step{done: true}, d.hold(ctx, events.HoldRefused, cause.Error())
	case errors.Is(err, errAllTaken) && len(entries) == 1: // the refusal has gone
		return d.uploadLater(ctx, verdict{cure: cureRetry, why: "upload_failed", delay: retryDelay(d.memory.refusals)}, cause)
	case errors.Is(err, errAllTaken):
		return d.split(ctx, limit{})
	case err != nil:
		return d.searchLater(ctx, err)
	}
	return d.refuse(ctx, verdict{cure: cureRejectRow, line: row + 1}, refusal)
}

// oddRow is the search itself: on which row of the file the refusal falls.
func (d *drive) oddRow(ctx context.Context, entries []manifest.Entry) (row int, refusal, err error) {
	drop := func(id string, err error) error {
		d.dropFile(ctx, id)
		return err
	}
	try := func(from, to int) error { return drop(d.uploading().part(ctx, entries, from, to)) }
	if len(entries) > 1 {
		return findRow(len(entries), try)
	}
	line, ok := controlLine(d.batch.GroupKey)
	if !ok {
		return 0, nil, errNoneTaken
	}
	control := func() error { return drop(d.uploading().control(ctx, line)) }
	refusal, err = onlyRow(control, func() error { return try(0, 1) })
	return 0, refusal, err
}

// whyNoRow keeps the provider's words out of the log: they may quote a row.
func whyNoRow(err error) error {
	if errors.Is(err, errNoneTaken) || errors.Is(err, errAllTaken) || err == nil {
		return err
	}
	return errors.New("broken off")
}

// searchLater is a search that a failure broke off, which is no word about the whole file.
func (d *drive) searchLater(ctx context.Context, err error) (step, error) {
	v := judgeUpload(err, d.batch.Rows, d.memory.refusals)
	switch v.cure {
	case cureHold:
		return step{done: true}, d.hold(ctx, v.code, err.Error())
	case cureRetry:
		return d.uploadLater(ctx, v, err)
	default:
		return d.uploadLater(ctx, verdict{cure: cureRetry, why: "upload_failed", delay: retryDelay(d.memory.refusals)}, err)
	}
}
