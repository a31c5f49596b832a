package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"

	"github.com/batchbus/batchbus/examples/workflow/tools"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// Bus is what a workflow needs of batchbus; a [client.Client] is one.
type Bus interface {
	OpenJob(ctx context.Context, q events.OpenJob) (events.JobStatus, error)
	Publisher
	Reader
}

// Publisher sends rows.
type Publisher interface {
	PublishRows(ctx context.Context, queue, job string, all iter.Seq2[client.Row, error], published func(rows int)) (int, error)
	Seal(ctx context.Context, queue, job string, expected int) error
}

// Reader reads what became of them.
type Reader interface {
	Follow(ctx context.Context, queue, job string, from uint64) iter.Seq2[client.Result, error]
	DeadLetters(ctx context.Context, queue, job string, from uint64) iter.Seq2[client.DeadLetter, error]
}

// Tools are the functions that models may call; a [tools.Registry] is one.
type Tools interface {
	Call(ctx context.Context, name, arguments string) (text string, outcome tools.Outcome, err error)
}

// Config is a workflow.
type Config struct {
	Bus      Bus
	Receipts Receipts
	Tools    Tools
	Queue    string
	Job      string // name of the workflow and of its first job; the next one is Job-2
	Caps     Caps
	Say      func(line string) // is told how it goes
}

// run is a workflow under way.
type run struct {
	Config
	used used
}

// Run leads the threads to their ends. It blocks until all are there or ctx ends. After an error, some are not: call it again with threads that
// were loaded anew, and it goes on where it was.
func Run(ctx context.Context, c Config, threads []*Thread) error {
	r := &run{Config: c}
	live := going(threads)
	for _, t := range live {
		r.used.bytes += int64(len(t.Line))
	}
	for stage := 1; len(live) > 0; stage++ {
		if err := r.publish(ctx, stage, live); err != nil {
			return fmt.Errorf("publish stage %d: %w", stage, err)
		}
		if err := r.collect(ctx, stage, live); err != nil {
			return fmt.Errorf("collect stage %d: %w", stage, err)
		}
		live = going(live)
	}
	return nil
}

func going(threads []*Thread) []*Thread {
	return slices.DeleteFunc(slices.Clone(threads), func(t *Thread) bool { return t.Status != "" })
}

// publish sends the rows of a stage and seals its job, unless a receipt says that it was done.
func (r *run) publish(ctx context.Context, stage int, live []*Thread) error {
	job, key := JobName(r.Job, stage), stageKey(r.Queue, r.Job, stage)
	want := StageReceipt{Job: job, Rows: len(live), SHA256: Digest(live)}
	for _, t := range live {
		t.Stage = stage
		want.Bytes += int64(len(t.Line))
	}
	stands, found, err := find[StageReceipt](ctx, r.Receipts, key)
	if err == nil && !found {
		if err = r.send(ctx, stage, &want, live); err == nil {
			stands, err = once(ctx, r.Receipts, key, &want)
		}
	}
	if err == nil && stands != want {
		err = fmt.Errorf("%w: job %s was published with other rows; give this workflow another name", ErrReceipt, job)
	}
	if err == nil {
		r.Say(fmt.Sprintf("stage %d: job %s with %d rows, %s", stage, job, len(live), map[bool]string{true: "published before", false: "published"}[found]))
	}
	return err
}

// send opens the job, publishes and seals. All of it may be repeated: the job's digest keeps another workflow's rows out of it.
func (r *run) send(ctx context.Context, stage int, s *StageReceipt, live []*Thread) error {
	status, err := r.Bus.OpenJob(ctx, events.OpenJob{
		JobRef: events.JobRef{Queue: r.Queue, Job: s.Job}, InputSHA256: s.SHA256, Description: fmt.Sprintf("stage %d of workflow %s", stage, r.Job),
	})
	if err != nil || status.SealedAt != nil { // sealed: all of it is there
		return err
	}
	lines := func(yield func(client.Row, error) bool) {
		for _, t := range live {
			if !yield(client.Row{Line: t.Line, ID: events.RowToken(t.ID)}, nil) {
				return
			}
		}
	}
	if _, err := r.Bus.PublishRows(ctx, r.Queue, s.Job, lines, nil); err != nil {
		return err
	}
	return r.Bus.Seal(ctx, r.Queue, s.Job, len(live))
}

// Digest tells the rows of a stage from others.
func Digest(threads []*Thread) string {
	hash := sha256.New()
	for _, t := range threads {
		hash.Write(t.Line)
		hash.Write([]byte{'\n'})
	}
	return hex.EncodeToString(hash.Sum(nil))
}
