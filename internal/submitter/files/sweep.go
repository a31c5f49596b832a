package files

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// partSize is how many files that may go are judged together, by one list of batches.
const partSize = 500

// suspect is a file that no state names, under the batch that its name tells of.
type suspect struct{ id, queue, job, n string }

// suspects are files by id.
type suspects map[string]suspect

// Sweep deletes once what is due, in all accounts, and returns how many files it deleted. An account that cannot be searched or whose files
// cannot be deleted is left alone. It blocks; it is idempotent; after an error some files may be deleted, and one account's error stops no
// other.
func (s *Sweeper) Sweep(ctx context.Context) (deleted int, err error) {
	var failed []error
	for _, key := range s.Keys {
		account, ok := s.Provider(key)
		if !ok {
			continue
		}
		if can := account.Capabilities(); !can.ListByMetadata || !can.DeleteFile {
			continue
		}
		n, err := s.account(ctx, account)
		deleted += n
		if err != nil {
			failed = append(failed, fmt.Errorf("sweep files of key %s: %w", key, err))
		}
	}
	return deleted, errors.Join(failed...)
}

// account sweeps one account. The file at the end of a page is left for the next part: it is the cursor of the next page.
func (s *Sweeper) account(ctx context.Context, account Provider) (deleted int, err error) {
	part := make(suspects)
	search := strings.ToLower(submit.FilePrefix(s.BusID))
	err = s.files(ctx, account, search, func(p page[doubleword.File]) error {
		if err := s.suspect(ctx, p.entries, part); err != nil {
			return err
		}
		if p.more && len(part) < partSize {
			return nil
		}
		cursor, held := part[p.last]
		if held = held && p.more; held {
			delete(part, p.last)
		}
		n, err := s.judge(ctx, account, part)
		deleted += n
		clear(part)
		if held {
			part[p.last] = cursor
		}
		return err
	})
	return deleted, err
}

// suspect adds the files that are ours, old enough, and named by no state.
func (s *Sweeper) suspect(ctx context.Context, listed []doubleword.File, to suspects) error {
	for _, f := range listed {
		queue, job, n, ours := submit.ParseFileName(s.BusID, f.Filename)
		if !ours || f.CreatedAt.IsZero() || time.Since(f.CreatedAt) < s.Age {
			continue
		}
		candidate := suspect{id: f.ID, queue: queue, job: job, n: n}
		named, err := s.named(ctx, candidate)
		if err != nil {
			return err
		}
		if !named {
			to[f.ID] = candidate
		}
	}
	return nil
}

// named reports whether the state of its batch names the file, or may still come to name it.
func (s *Sweeper) named(ctx context.Context, f suspect) (bool, error) {
	b, err := s.Jobs.Batch(ctx, f.queue, f.job, f.n)
	if errors.Is(err, jetstore.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the state that may name file %s: %w", f.id, err)
	}
	return b.FileID == f.id || uploads(b.State), nil
}

// uploads reports whether a batch in this state may be uploading, or fencing the POST of an older file: all but those that are known to be
// over.
func uploads(state events.BatchState) bool {
	return !state.Ended() && state != events.BatchSubmitted && state != events.BatchFinished
}

// judge deletes those of a part that no batch at the provider was made of.
func (s *Sweeper) judge(ctx context.Context, account Provider, part suspects) (deleted int, err error) {
	if len(part) == 0 {
		return 0, nil
	}
	err = s.batches(ctx, account, strings.ToLower(s.BusID), func(p page[doubleword.Batch]) error {
		for i := range p.entries {
			delete(part, p.entries[i].InputFileID)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, f := range part {
		gone, err := s.remove(ctx, account, f)
		if err != nil {
			return deleted, err
		}
		if gone {
			deleted++
		}
	}
	return deleted, nil
}

// remove asks the state once more and deletes the file. false: it is named by now, or somebody else deleted it.
func (s *Sweeper) remove(ctx context.Context, account Provider, f suspect) (gone bool, err error) {
	if named, err := s.named(ctx, f); err != nil || named {
		return false, err
	}
	if gone, err = account.DeleteFile(ctx, f.id); err != nil {
		return false, fmt.Errorf("delete file %s: %w", f.id, err)
	}
	if gone {
		s.Observe.FileDeleted()
		s.Log.Info().Str("queue", f.queue).Str("job", f.job).Str("batch", f.n).Str("file", f.id).
			Msg("an input file that nothing refers to is deleted")
	}
	return gone, nil
}
