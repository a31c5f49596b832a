package requeue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

// Linked are the jobs that name one job, and the custom_ids that they hold.
type Linked struct {
	Jobs []jobs.Job
	link Link
	ids  map[[16]byte]uint8
}

// maxLinked is how many linked jobs are told apart; further ones count as the last.
const maxLinked = 255

// FindLinked looks for the jobs that name the given one by a link.
func FindLinked(ctx context.Context, store *jobs.Store, link Link, queue, job string) (*Linked, error) {
	l := &Linked{link: link, ids: make(map[[16]byte]uint8)}
	seen := make(map[string]int) // one that changes meanwhile comes twice, the second time as it is then
	for j, err := range store.Jobs(ctx) {
		if err != nil {
			return nil, fmt.Errorf("look for linked jobs: %w", err)
		}
		if named := link.Of(&j.Job); named == nil || named.Queue != queue || named.Job != job {
			continue
		}
		key := events.JobKey(j.Queue, j.Name())
		if i, again := seen[key]; again {
			l.Jobs[i] = j
			continue
		}
		seen[key] = len(l.Jobs)
		l.Jobs = append(l.Jobs, j)
	}
	return l, nil
}

// Bus is what is read of the store.
type Bus interface {
	Read(ctx context.Context, stream, filter string, from uint64) iter.Seq2[jetstore.Message, error]
}

// Except leaves a job out of the linked ones.
func (l *Linked) Except(queue, job string) {
	l.Jobs = slices.DeleteFunc(l.Jobs, func(j jobs.Job) bool { return j.Queue == queue && j.Name() == job })
}

// Read reads which custom_ids the linked jobs hold: from their rows, and where these were purged from their results. Of those that only does not
// want nothing is remembered; nil wants all.
func (l *Linked) Read(ctx context.Context, bus Bus, only func(id [16]byte) bool) error {
	note := func(id [16]byte, index uint8) {
		if only == nil || only(id) {
			l.ids[id] = index
		}
	}
	for i := range l.Jobs {
		if err := readIDs(ctx, bus, &l.Jobs[i], func(id [16]byte) { note(id, uint8(min(i, maxLinked))) }); err != nil {
			return err
		}
	}
	return nil
}

// readIDs notes the custom_ids that a job holds, some of them twice.
func readIDs(ctx context.Context, bus Bus, j *jobs.Job, note func(id [16]byte)) error {
	for m, err := range bus.Read(ctx, jetstore.StreamRows, events.RowsSubject(j.Queue, j.Name()), 1) {
		if err != nil {
			return fmt.Errorf("read rows of linked job: %w", err)
		}
		for e, err := range block.Read(m.Data) {
			if err != nil {
				return fmt.Errorf("read rows of linked job: %w", err)
			}
			note(e.ID)
		}
	}
	prefix := strings.TrimSuffix(events.ResultsFilter(j.Queue, j.Name()), ">")
	for m, err := range bus.Read(ctx, jetstore.StreamResults, prefix+">", 1) {
		if err != nil {
			return fmt.Errorf("read results of linked job: %w", err)
		}
		note(idOfToken(strings.TrimPrefix(m.Subject, prefix)))
	}
	return nil
}

// Held tells which linked job holds a custom_id, by its index in Jobs.
func (l *Linked) Held(id [16]byte) (index int, held bool) {
	at, held := l.ids[id]
	return int(at), held
}

// idOfToken is the index's hash of a custom_id, from the row token of a result: the id itself, or "~" and the hex SHA-256 of it.
func idOfToken(token string) (id [16]byte) {
	digest, hashed := strings.CutPrefix(token, "~")
	if !hashed {
		return rows.HashID(token)
	}
	if sum, err := hex.DecodeString(digest); err == nil && len(sum) == sha256.Size {
		copy(id[:], sum)
	}
	return id
}

// Target is the job that a plan's rows go to.
type Target struct {
	Queue, Job string
	// Begun is the job as it is when this requeue was begun before; nil when it is a new one.
	Begun *jobs.Job
	// Joined says that Begun holds other rows beside, which were put there with it left open.
	Joined bool
}

// ErrTaken is returned when the wanted job is there and may not take the rows.
var ErrTaken = errors.New("choose another name")

// Choose finds the job for a plan: the linked one that has its digest, else the first free name. A name that is wanted may also be a linked
// job that is still open.
func (l *Linked) Choose(ctx context.Context, store *jobs.Store, queue, base, wanted, digest string) (Target, error) {
	if wanted != "" {
		return l.named(ctx, store, queue, wanted, digest)
	}
	for i := range l.Jobs {
		if j := &l.Jobs[i]; j.InputSHA256 == digest && j.Queue == queue {
			return Target{Queue: queue, Job: j.Name(), Begun: j}, nil
		}
	}
	for n := 1; ; n++ {
		name := l.link.Name(base, n)
		_, err := store.Job(ctx, queue, name)
		if errors.Is(err, jetstore.ErrNotFound) {
			return Target{Queue: queue, Job: name}, nil
		}
		if err != nil {
			return Target{}, err
		}
	}
}

func (l *Linked) named(ctx context.Context, store *jobs.Store, queue, wanted, digest string) (Target, error) {
	for i := range l.Jobs {
		j := &l.Jobs[i]
		switch {
		case j.Queue != queue || j.Name() != wanted:
		case j.InputSHA256 == digest:
			return Target{Queue: queue, Job: wanted, Begun: j}, nil
		case j.SealedAt == nil:
			return Target{Queue: queue, Job: wanted, Begun: j, Joined: true}, nil
		default:
			return Target{}, fmt.Errorf("job %s is sealed, and was made of other rows: %w", wanted, ErrTaken)
		}
	}
	_, err := store.Job(ctx, queue, wanted)
	switch {
	case errors.Is(err, jetstore.ErrNotFound):
		return Target{Queue: queue, Job: wanted}, nil
	case err != nil:
		return Target{}, err
	}
	return Target{}, fmt.Errorf("job %s is there already, and takes up no rows of this one: %w", wanted, ErrTaken)
}
