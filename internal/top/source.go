package top

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/batchbus/batchbus/pkg/events"
)

// Source is the control API; a client of pkg/client is one.
type Source interface {
	Jobs(ctx context.Context, queue string) iter.Seq2[events.JobStatus, error]
	Job(ctx context.Context, q events.JobRef) (events.JobStatus, error)
	CancelJob(ctx context.Context, q events.JobRef) (events.JobStatus, error)
	ResumeJobs(ctx context.Context, q events.ResumeJobs) ([]events.ResumedHold, error)
}

const (
	// maxLooked is how many jobs are looked at closely, and shown, at a time: a screen has fewer lines, and each costs a request.
	maxLooked = 100
	// requestTimeout bounds what one look or wish waits for.
	requestTimeout = 30 * time.Second
)

// looked is what one look at the bus brought.
type looked struct {
	at      time.Time
	jobs    []events.JobStatus // those that are not over have their batches and totals
	hidden  int                // jobs that were left out
	counts  map[events.JobState]int
	failure error
}

// wished is what became of a wish.
type wished struct{ said string }

// look lists the jobs, what goes on before what is over, and the newest first.
func look(ctx context.Context, from Source, queue string, ended bool, now func() time.Time) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		found := looked{counts: make(map[events.JobState]int)}
		if found.jobs, found.failure = listed(ctx, from, queue); found.failure != nil {
			return found
		}
		for i := range found.jobs {
			found.counts[found.jobs[i].State]++
		}
		if !ended {
			found.jobs = slices.DeleteFunc(found.jobs, func(j events.JobStatus) bool { return over(&j) })
		}
		slices.SortFunc(found.jobs, order)
		found.hidden = max(0, len(found.jobs)-maxLooked)
		found.jobs = found.jobs[:len(found.jobs)-found.hidden]
		found.failure = closely(ctx, from, found.jobs)
		found.at = now()
		return found
	}
}

// listed are the jobs; one that changed while they were read counts once, as it was last.
func listed(ctx context.Context, from Source, queue string) ([]events.JobStatus, error) {
	byName := make(map[events.JobRef]events.JobStatus)
	for j, err := range from.Jobs(ctx, queue) {
		if err != nil {
			return nil, err
		}
		byName[events.JobRef{Queue: j.Queue, Job: j.Job}] = j
	}
	all := make([]events.JobStatus, 0, len(byName))
	for _, j := range byName {
		all = append(all, j)
	}
	return all, nil
}

// closely reads batches and counts of what goes on: a list has none.
func closely(ctx context.Context, from Source, jobs []events.JobStatus) error {
	for i := range jobs {
		if over(&jobs[i]) {
			continue
		}
		j, err := from.Job(ctx, ref(&jobs[i]))
		if err != nil {
			return err
		}
		jobs[i] = j
	}
	return nil
}

func order(a, b events.JobStatus) int {
	if over(&a) != over(&b) {
		if over(&a) {
			return 1
		}
		return -1
	}
	if newest := b.OpenedAt.Compare(a.OpenedAt); newest != 0 {
		return newest
	}
	return strings.Compare(a.Queue+"."+a.Job, b.Queue+"."+b.Job)
}

func over(j *events.JobStatus) bool { return j.State == events.JobCompleted || j.ForgottenAt != nil }

func ref(j *events.JobStatus) events.JobRef { return events.JobRef{Queue: j.Queue, Job: j.Job} }
