package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Bus is what an audit reads from; a [jetstore.Store] is one.
type Bus interface {
	manifest.Bus
	At(ctx context.Context, stream string, seq uint64) (jetstore.Message, error)
	SubjectCounts(ctx context.Context, stream, filter string) (map[string]uint64, error)
	BusID(ctx context.Context) (string, error)
}

// Config is what an audit works with. Bus and Jobs have no default.
type Config struct {
	Bus  Bus
	Jobs *jobs.Store
	// Provider is asked for its own list of the job's batches; nil: nobody is.
	Provider Provider
}

// Job audits a job and reports. It changes nothing, may run beside the services, and takes about as long as reading the job's rows and results.
// An error means that something could not be read, and then there is no verdict; [jetstore.ErrNotFound] when there is no such job.
func Job(ctx context.Context, c Config, queue, job string) (*Report, error) {
	state, err := c.Jobs.Job(ctx, queue, job)
	if err != nil {
		return nil, err
	}
	return audit(ctx, c, &state.Job)
}

// reader is one audit: what is judged, and where it is read from.
type reader struct {
	Config
	*ledger
	batches []carried
}

func audit(ctx context.Context, c Config, job *events.Job) (*Report, error) {
	a := reader{Config: c, ledger: newLedger(job)}
	steps := []func(context.Context) error{a.readBatches, a.readRows, a.readManifests, a.readResults, a.readDeadLetters, a.readRequests}
	if c.Provider != nil {
		steps = append(steps, a.readRemote)
	}
	for _, read := range steps {
		if err := read(ctx); err != nil {
			return nil, fmt.Errorf("audit job %s/%s: %w", job.Queue, job.Job, err)
		}
	}
	a.judge()
	if err := a.name(ctx); err != nil {
		return nil, fmt.Errorf("audit job %s/%s: %w", job.Queue, job.Job, err)
	}
	a.report.conclude()
	return a.report, nil
}

func (a *reader) judge() {
	if a.report.Basis == ByRows {
		a.closeRows()
	} else if a.job.State != events.JobCompleted {
		a.report.Open = append(a.report.Open, "the job is "+string(a.job.State))
	}
	a.closeTotals(a.batches)
	if a.job.State == events.JobPlanned {
		a.report.Open = append(a.report.Open, "the job is not completed")
	}
}

// readRows walks the job's blocks, and decides what there is to judge by.
func (a *reader) readRows(ctx context.Context) error {
	for m, err := range a.Bus.Read(ctx, jetstore.StreamRows, events.RowsSubject(a.job.Queue, a.job.Job), 1) {
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		a.block(events.Place{Sequence: m.Sequence, At: m.At})
		if _, sealed := block.ReadSeal(m.Data); sealed {
			a.seal()
			continue
		}
		index := 0
		for e, err := range block.Read(m.Data) {
			if err != nil {
				return fmt.Errorf("read block %d: %w", m.Sequence, err)
			}
			a.row(e, events.RowPlace{Sequence: m.Sequence, Index: index})
			index++
		}
	}
	a.settleBasis(time.Now())
	return nil
}

func (a *reader) readResults(ctx context.Context) error {
	prefix := strings.TrimSuffix(events.ResultsFilter(a.job.Queue, a.job.Job), ">")
	for m, err := range a.Bus.Read(ctx, jetstore.StreamResults, prefix+">", 1) {
		if err != nil {
			return fmt.Errorf("read results: %w", err)
		}
		one := answer{
			token: strings.TrimPrefix(m.Subject, prefix), source: m.Header.Get(events.HeaderSource),
			header: events.Outcome(m.Header.Get(events.HeaderOutcome)),
		}
		if err := json.Unmarshal(m.Data, &one.body); err != nil {
			a.report.problem(Problem{Code: WrongOutcome}, "the result on %s is no result: %v", one.token, err)
			continue
		}
		a.result(&one)
	}
	return nil
}

func (a *reader) readDeadLetters(ctx context.Context) error {
	for m, err := range a.Bus.Read(ctx, jetstore.StreamDeadletters, events.DeadlettersFilter(a.job.Queue, a.job.Job), 1) {
		if err != nil {
			return fmt.Errorf("read dead letters: %w", err)
		}
		var body struct {
			CustomID string `json:"custom_id"`
		}
		_ = json.Unmarshal(m.Data, &body) // without a custom_id it is counted all the same
		a.deadLetter(m.Header.Get(events.HeaderSource), m.Header.Get(events.HeaderCode), body.CustomID)
	}
	return nil
}

// readRequests counts what ingest has not taken yet. What stands on a queue's own subject can belong to any rolling job.
func (a *reader) readRequests(ctx context.Context) error {
	if events.IsRolling(a.job.Job) {
		return nil
	}
	subject := events.RequestSubject(a.job.Queue, a.job.Job)
	counts, err := a.Bus.SubjectCounts(ctx, jetstore.StreamRequests, subject)
	if err != nil {
		return fmt.Errorf("count waiting requests: %w", err)
	}
	a.report.open(int(counts[subject]), "messages wait in BATCHBUS_REQUESTS")
	return nil
}

// name reads the custom_ids of the rows in question.
func (a *reader) name(ctx context.Context) error {
	for i := range a.report.Problems {
		p := &a.report.Problems[i]
		if p.Place == nil || p.CustomID != "" {
			continue
		}
		m, err := a.Bus.At(ctx, jetstore.StreamRows, p.Place.Sequence)
		if errors.Is(err, jetstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read block of a row: %w", err)
		}
		p.CustomID = customID(m.Data, p.Place.Index)
	}
	return nil
}

func customID(data []byte, index int) string {
	for e, err := range block.Read(data) {
		if err != nil {
			return ""
		}
		if index == 0 {
			return e.CustomID
		}
		index--
	}
	return ""
}
