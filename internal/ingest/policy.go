package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/internal/room"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

// Policies says how a queue's jobs are run.
type Policies interface {
	// Policy is the queue's policy now; a job that opens keeps it.
	Policy(ctx context.Context, queue string) (events.Policy, error)
	// Linger is the length of the queue's rolling windows that held at a time in the past, so that a message that is delivered again
	// after a change lands in the same job.
	Linger(ctx context.Context, queue string, at time.Time) (time.Duration, error)
}

// DefaultPolicies gives every queue [events.DefaultPolicy].
type DefaultPolicies struct {
	// Window is the length of rolling windows, whole seconds, in place of the default policy's. 0: the default policy's.
	Window time.Duration
}

// Policy is the default policy. It never fails.
func (d DefaultPolicies) Policy(context.Context, string) (events.Policy, error) {
	p := events.DefaultPolicy()
	if d.Window > 0 {
		p.LingerSeconds = max(int(d.Window/time.Second), 1)
	}
	return p, nil
}

// Linger is the default policy's. It never fails.
func (d DefaultPolicies) Linger(ctx context.Context, queue string, _ time.Time) (time.Duration, error) {
	p, err := d.Policy(ctx, queue)
	return time.Duration(p.LingerSeconds) * time.Second, err
}

// errNoRoom is why rows of a job that does not exist yet wait: ROWS is nearly full, and what is left is for the open jobs.
var errNoRoom = errors.New("the rows stream is nearly full: no new jobs are opened")

// snapshot is what the policy that a job opened with means for its rows. It is only read.
type snapshot struct {
	queue, job, subject string
	window              string
	windows             []string
	rules               *rows.Rules
	readAt              time.Time
}

func newSnapshot(j *jobs.Job, now time.Time) (*snapshot, error) {
	rules, err := queues.Rules(&j.Policy)
	if err != nil {
		return nil, fmt.Errorf("obey policy of job %s/%s: %w", j.Queue, j.Name(), err)
	}
	return &snapshot{
		queue: j.Queue, job: j.Name(), subject: events.RowsSubject(j.Queue, j.Name()),
		window: j.Policy.Window, windows: j.Policy.Windows, rules: rules, readAt: now,
	}, nil
}

const (
	// maxSnapshots bounds one generation of the cache; two are kept.
	maxSnapshots = 2048
	// snapshotTTL is how long a job is taken for open without looking: a name becomes reusable a month after its job has ended.
	snapshotTTL = 10 * time.Minute
)

// snapshots opens jobs and remembers their policies: those used lately stay, in two generations. It is not safe for concurrent use.
type snapshots struct {
	jobs        *jobs.Store
	policies    Policies
	room        *room.Room
	opened      func(queue, job string) // hears of every job that was looked up
	recent, old map[string]*snapshot
}

// of returns the snapshot of a job, which is opened if there is none. It blocks for a round trip when the job is not remembered.
// [errNoRoom]: the job does not exist and may not be opened. After another error the job may be open.
func (s *snapshots) of(ctx context.Context, queue, job string) (*snapshot, error) {
	key := queue + "." + job
	found := s.recent[key]
	if found == nil {
		found = s.old[key]
	}
	if found == nil || time.Since(found.readAt) > snapshotTTL {
		j, err := s.open(ctx, queue, job)
		if err != nil {
			return nil, err
		}
		if found, err = newSnapshot(&j, time.Now()); err != nil {
			return nil, err
		}
		s.opened(queue, job)
	}
	if len(s.recent) >= maxSnapshots {
		s.recent, s.old = nil, s.recent
	}
	if s.recent == nil {
		s.recent = make(map[string]*snapshot)
	}
	s.recent[key] = found
	return found, nil
}

// open returns the job, opened if need and room be.
func (s *snapshots) open(ctx context.Context, queue, job string) (jobs.Job, error) {
	found, err := s.jobs.Job(ctx, queue, job)
	if !errors.Is(err, jetstore.ErrNotFound) {
		return found, err
	}
	if s.room.Full(ctx) {
		return jobs.Job{}, fmt.Errorf("open job %s/%s: %w", queue, job, errNoRoom)
	}
	policy, err := s.policies.Policy(ctx, queue)
	if err != nil {
		return jobs.Job{}, fmt.Errorf("read policy of %s: %w", queue, err)
	}
	if window, rolling := events.ParseRolling(job); rolling {
		policy = queues.Rolling(policy, window.End.Sub(window.Start))
	}
	return s.jobs.Open(ctx, queue, job, jobs.Options{Policy: policy})
}

func joined(names []string) string { return strings.Join(names, ", ") }
