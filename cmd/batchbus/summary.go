package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// summary is how a run ended. Its JSON is what --json prints.
type summary struct {
	Job            string         `json:"job"`
	Queue          string         `json:"queue"`
	Simulated      bool           `json:"simulated"`
	Rows           rowCounts      `json:"rows"`
	Truncated      int            `json:"truncated"`
	Usage          events.Usage   `json:"usage"`
	Batches        []batchSummary `json:"batches"`
	OutputFile     string         `json:"output_file"`
	ErrorsFile     string         `json:"errors_file"`
	ElapsedSeconds float64        `json:"elapsed_seconds"`
}

type rowCounts struct {
	Total       int `json:"total"`
	Succeeded   int `json:"succeeded"`
	Failed      int `json:"failed"`
	Expired     int `json:"expired"`
	Cancelled   int `json:"cancelled"`
	Rejected    int `json:"rejected"`
	DeadLetters int `json:"dead_letters"`
}

type batchSummary struct {
	N               string            `json:"n"`
	State           events.BatchState `json:"state"`
	ProviderBatchID string            `json:"provider_batch_id"`
	InputFileID     string            `json:"input_file_id"`
	OutputFileID    string            `json:"output_file_id"`
	ErrorFileID     string            `json:"error_file_id"`
}

func (f *follower) summary() summary {
	s := summary{
		Job: f.plan.job, Queue: f.plan.queue, Simulated: f.plan.simulated,
		Rows: rowCounts{
			Total: f.totals.Rows + f.deadLetters, Succeeded: f.totals.Succeeded, Failed: f.totals.Failed,
			Expired: f.totals.Expired, Cancelled: f.totals.Cancelled, Rejected: f.totals.Rejected, DeadLetters: f.deadLetters,
		},
		Truncated: f.totals.Truncated, Usage: f.totals.Usage, Batches: []batchSummary{},
		OutputFile: f.output.path, ErrorsFile: f.failures.path, ElapsedSeconds: time.Since(f.plan.startedAt).Seconds(),
	}
	for i := range f.batches {
		b := &f.batches[i]
		s.Batches = append(s.Batches, batchSummary{
			N: b.N, State: b.State, ProviderBatchID: b.ProviderBatchID,
			InputFileID: b.FileID, OutputFileID: b.OutputFileID, ErrorFileID: b.ErrorFileID,
		})
	}
	return s
}

// report prints the summary: for people to stderr, and for programs, when asked, to stdout.
func (p *plan) report(s *summary) error {
	p.say("job %s done in %.1f s (%s)", s.Job, s.ElapsedSeconds, reality(s.Simulated))
	p.say("rows %d: succeeded %d, failed %d, expired %d, cancelled %d, rejected %d, dead letters %d; truncated answers %d",
		s.Rows.Total, s.Rows.Succeeded, s.Rows.Failed, s.Rows.Expired, s.Rows.Cancelled, s.Rows.Rejected, s.Rows.DeadLetters, s.Truncated)
	p.say("tokens: %d in, %d out; batches: %d", s.Usage.PromptTokens, s.Usage.CompletionTokens, len(s.Batches))
	p.say("%s", s.OutputFile)
	p.say("%s", s.ErrorsFile)
	if s.Rows.Total != p.rows {
		p.say("warning: the files hold %d rows and %d were answered", p.rows, s.Rows.Total)
	}
	if !p.cmd.JSON {
		return nil
	}
	out := json.NewEncoder(p.env.Stdout)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	if err := out.Encode(s); err != nil {
		return fmt.Errorf("print summary: %w", err)
	}
	return nil
}

// say prints one line for people.
func (p *plan) say(format string, args ...any) {
	fmt.Fprintf(p.env.Stderr, "batchbus: "+format+"\n", args...)
}

// announce says what is about to happen, and above all whether it is real.
func (p *plan) announce() {
	if p.simulated {
		p.say("SIMULATED run: the answers are made up by the built-in simulator, no model runs and nothing is paid")
	} else {
		p.say("every body is sent to the provider at %s as it is, not de-identified", p.local.BaseURL)
	}
	p.say("job %s: %d rows from %d file(s), data in %s", p.job, p.rows, len(p.inputs), p.local.Dir)
	for _, in := range p.inputs {
		if in.bom {
			p.say("note: %s begins with a byte order mark, which is left out", in.path)
		}
		for _, f := range in.faults {
			p.say("bad row: %s", describe(in.path, f))
		}
		if more := in.rows - in.valid - len(in.faults); more > 0 {
			p.say("%d more bad rows in %s: batchbus validate shows all", more, in.path)
		}
	}
}

// resuming says that the job is not new.
func (p *plan) resuming(job *events.Job) {
	switch {
	case job.State == events.JobCompleted:
		p.say("the job is complete already: nothing is sent, its results are written again")
	case job.SealedAt != nil || job.Batches > 0 || p.startedAt.Sub(job.OpenedAt) > time.Second:
		p.say("resuming the job opened %s", job.OpenedAt.Local().Format(time.DateTime))
	}
}

func describe(path string, f rowFault) string {
	text := fmt.Sprintf("%s:%d", path, f.line)
	if f.fault.Column > 0 {
		text += fmt.Sprintf(":%d", f.fault.Column)
	}
	text += ": " + f.fault.Code + ": " + f.fault.Message
	if f.fault.Hint != "" {
		text += " (" + f.fault.Hint + ")"
	}
	return text
}
