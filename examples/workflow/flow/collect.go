package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/examples/workflow/conversation"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// collect reads the results of a stage, each as it comes, and takes every thread a step further.
func (r *run) collect(ctx context.Context, stage int, live []*Thread) error {
	waiting := make(map[string]*Thread, len(live))
	for _, t := range live {
		waiting[t.ID] = t
	}
	job := JobName(r.Job, stage)
	for result, err := range r.Bus.Follow(ctx, r.Queue, job, 0) {
		if err != nil {
			return err
		}
		t, ours := waiting[result.CustomID]
		if !ours {
			continue
		}
		if err := r.step(ctx, t, &result); err != nil {
			return fmt.Errorf("row %q: %w", t.ID, err)
		}
		delete(waiting, t.ID)
	}
	return r.miss(ctx, job, waiting)
}

// step takes a thread from its result to its end, or to its row of the next stage.
func (r *run) step(ctx context.Context, t *Thread, result *client.Result) error {
	if result.Usage != nil {
		t.Usage.Add(*result.Usage)
	}
	answer, status, why := judge(result)
	if status != "" {
		t.Answer = answer.Text
		t.end(status, why)
		return nil
	}
	receipt, err := r.receipt(ctx, t, &answer)
	if err != nil {
		return err
	}
	for _, call := range receipt.Calls {
		t.Calls = append(t.Calls, Called{t.Stage, call.Tool, call.Outcome})
	}
	r.used.calls += len(receipt.Calls)
	if receipt.Capped != "" {
		t.end(Capped, receipt.Capped)
		return nil
	}
	if len(receipt.Calls) != len(answer.Calls) {
		return fmt.Errorf("%w: it has %d calls for %d", ErrReceipt, len(receipt.Calls), len(answer.Calls))
	}
	next, err := conversation.Next(t.Line, &answer, receipt.results())
	if err != nil {
		return err
	}
	if digest(next) != receipt.NextSHA256 {
		return fmt.Errorf("%w: the next row is another one", ErrReceipt)
	}
	t.Line, r.used.bytes = next, r.used.bytes+int64(len(next))
	return nil
}

// judge says how a result ends its row; with no status, the answer calls tools.
func judge(result *client.Result) (answer conversation.Answer, status Status, why string) {
	switch {
	case result.Outcome != events.Succeeded && result.Error != nil:
		return answer, Status(result.Outcome), result.Error.Code + ": " + result.Error.Message
	case result.Outcome != events.Succeeded:
		return answer, Status(result.Outcome), "no reason given"
	case result.Truncated:
		return answer, Truncated, "the model stopped for length"
	}
	answer, err := conversation.Read(result.Response)
	switch {
	case err != nil:
		return conversation.Answer{}, NoAnswer, err.Error()
	case len(answer.Calls) == 0:
		return answer, Answered, ""
	}
	return answer, "", ""
}

// receipt returns what was decided about an answer that calls tools, and decides it, tools run, if nobody has.
func (r *run) receipt(ctx context.Context, t *Thread, answer *conversation.Answer) (RowReceipt, error) {
	key := rowKey(r.Queue, r.Job, t.Stage, t.ID)
	stands, found, err := find[RowReceipt](ctx, r.Receipts, key)
	if err != nil || found {
		return stands, err
	}
	made := RowReceipt{Job: JobName(r.Job, t.Stage), Stage: t.Stage, CustomID: t.ID, Wanted: len(answer.Calls)}
	made.Capped = r.Caps.beforeCalls(r.used, t.Stage, len(t.Calls), made.Wanted)
	if made.Capped == "" {
		if err := r.call(ctx, &made, t, answer); err != nil {
			return RowReceipt{}, err
		}
	}
	return once(ctx, r.Receipts, key, &made)
}

// call runs the tools and decides whether the row goes on.
func (r *run) call(ctx context.Context, made *RowReceipt, t *Thread, answer *conversation.Answer) error {
	for _, call := range answer.Calls {
		began := time.Now()
		text, outcome, err := r.Tools.Call(ctx, call.Name, call.Arguments)
		if err != nil {
			return err
		}
		made.Calls = append(made.Calls, CallReceipt{
			Tool: call.Name[:min(len(call.Name), 64)], ArgumentsSHA256: digest([]byte(call.Arguments)), Outcome: outcome,
			Milliseconds: time.Since(began).Milliseconds(), ResultBytes: len(text), Result: text,
		})
	}
	next, err := conversation.Next(t.Line, answer, made.results())
	if err != nil {
		return err
	}
	if made.Capped = r.Caps.beforeRow(r.used, len(next)); made.Capped == "" {
		made.NextSHA256 = digest(next)
	}
	return nil
}

// miss ends threads whose stage is over without a result for them.
func (r *run) miss(ctx context.Context, job string, waiting map[string]*Thread) error {
	if len(waiting) == 0 {
		return nil
	}
	for letter, err := range r.Bus.DeadLetters(ctx, r.Queue, job, 0) {
		if err != nil {
			return err
		}
		if t, ours := waiting[letter.CustomID]; ours && t.Status == "" {
			t.end(Missing, "it is a dead letter: "+letter.Code+": "+letter.Message)
		}
	}
	for _, t := range waiting {
		if t.Status == "" {
			t.end(Missing, "job "+job+" is completed, and has neither a result nor a dead letter for it (results are kept for 30 days)")
		}
	}
	return nil
}
