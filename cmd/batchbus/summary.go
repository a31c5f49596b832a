package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

// summary is how a run ended. Its JSON is what --json prints.
type summary struct {
	Job            string         `json:"job"`
	Queue          string         `json:"queue"`
	Simulated      *bool          `json:"simulated,omitempty"` // left out where this process does not know
	Rows           rowCounts      `json:"rows"`
	Truncated      int            `json:"truncated"`
	Usage          events.Usage   `json:"usage"`
	Cost           events.Money   `json:"cost,omitzero"` // of the results, by the price table
	Currency       string         `json:"currency,omitempty"`
	Billed         events.Money   `json:"billed,omitzero"` // what the provider said
	Batches        []batchSummary `json:"batches"`
	MissingRows    int            `json:"missing_rows,omitempty"` // fewer than the publisher said beside the seal, as far as is known
	OutputFile     string         `json:"output_file,omitempty"`
	ErrorsFile     string         `json:"errors_file,omitempty"`
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
	Billed          *events.Money     `json:"billed,omitempty"`
}

// summaryOf sums up a job that is complete.
func summaryOf(v *view, totals events.Totals, deadLetters int, begun time.Time) summary {
	s := summary{
		Job: v.job.Name(), Queue: v.job.Queue, ElapsedSeconds: time.Since(begun).Seconds(),
		Rows: rowCounts{
			Total: totals.Rows + deadLetters, Succeeded: totals.Succeeded, Failed: totals.Failed,
			Expired: totals.Expired, Cancelled: totals.Cancelled, Rejected: totals.Rejected, DeadLetters: deadLetters,
		},
		Truncated: totals.Truncated, Usage: totals.Usage, Cost: totals.Cost, Currency: totals.Currency, Batches: []batchSummary{},
	}
	if totals.Basis == simulatedBasis {
		s.Simulated = new(true)
	}
	if v.job.Totals != nil {
		s.Billed = v.job.Totals.Billed
	}
	if j := &v.job; j.ExpectedRows != nil && j.CancelWanted == nil {
		s.MissingRows = max(*j.ExpectedRows-s.Rows.Total, 0)
	}
	for i := range v.batches {
		b := &v.batches[i]
		s.Batches = append(s.Batches, batchSummary{
			N: b.N, State: b.State, ProviderBatchID: b.ProviderBatchID,
			InputFileID: b.FileID, OutputFileID: b.OutputFileID, ErrorFileID: b.ErrorFileID, Billed: b.Billed,
		})
	}
	return s
}

// exitCode tells a job whose every row succeeded from others.
func (s *summary) exitCode() int {
	return differing(s.Rows.Succeeded, s.Rows.Total+s.MissingRows)
}

// report prints the summary: for people to stderr, and for programs, when asked, to stdout.
func (s *summary) report(env app.Env, asJSON bool) error {
	say(env, "job %s done in %.1f s%s", s.Job, s.ElapsedSeconds, reality(s.Simulated))
	say(env, "rows %d: %s", s.Rows.Total, s.Rows)
	if s.MissingRows > 0 {
		say(env, "warning: the publisher said %d rows, %d of them have neither a result nor a dead letter of their own: see batchbus audit", s.Rows.Total+s.MissingRows, s.MissingRows)
	}
	say(env, "truncated answers %d; tokens: %d in, %d out; batches: %d", s.Truncated, s.Usage.PromptTokens, s.Usage.CompletionTokens, len(s.Batches))
	if words := costWords(s.Cost, s.Currency, s.Billed); words != "" {
		say(env, "%s%s", words, reality(s.Simulated))
	}
	for _, path := range []string{s.OutputFile, s.ErrorsFile} {
		if path != "" {
			say(env, "%s", path)
		}
	}
	if !asJSON {
		return nil
	}
	return printJSON(env, s)
}

// String is the counts in words.
func (c rowCounts) String() string {
	return fmt.Sprintf("succeeded %d, failed %d, expired %d, cancelled %d, rejected %d, dead letters %d",
		c.Succeeded, c.Failed, c.Expired, c.Cancelled, c.Rejected, c.DeadLetters)
}

// printJSON prints v for programs.
func printJSON(env app.Env, v any) error {
	out := json.NewEncoder(env.Stdout)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
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
