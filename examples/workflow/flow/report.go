package flow

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/batchbus/batchbus/examples/workflow/tools"
	"github.com/batchbus/batchbus/pkg/events"
)

// Statuses are all statuses, in the order of a report.
func Statuses() []Status {
	return []Status{Answered, Truncated, Failed, Expired, Cancelled, Rejected, NoAnswer, Capped, Missing, Unfinished}
}

// status is the thread's status; one that is under way is unfinished.
func (t *Thread) status() (Status, string) {
	if t.Status == "" {
		return Unfinished, "the program ended in stage " + strconv.Itoa(t.Stage) + "; the same command goes on"
	}
	return t.Status, t.Why
}

// WriteLines writes one line of JSON for each thread, in the order of the input. A row that was not answered has "answer":null.
func WriteLines(w io.Writer, threads []*Thread) error {
	buffered := bufio.NewWriter(w)
	for _, t := range threads {
		buffered.Write(append(t.append(nil), '\n')) //nolint:errcheck,gosec // Flush returns the error
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func (t *Thread) append(dst []byte) []byte {
	status, why := t.status()
	dst = events.AppendString(append(dst, `{"custom_id":`...), t.ID)
	dst = events.AppendString(append(dst, `,"status":`...), string(status))
	dst = events.AppendString(append(dst, `,"why":`...), why)
	dst = strconv.AppendInt(append(dst, `,"stage":`...), int64(t.Stage), 10)
	dst = append(dst, `,"calls":[`...)
	for i, call := range t.Calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"stage":`...), int64(call.Stage), 10)
		dst = events.AppendString(append(dst, `,"tool":`...), call.Tool)
		dst = append(events.AppendString(append(dst, `,"outcome":`...), string(call.Outcome)), '}')
	}
	dst = strconv.AppendInt(append(dst, `],"total_tokens":`...), t.Usage.TotalTokens, 10)
	dst = append(dst, `,"answer":`...)
	if status != Answered {
		return append(dst, "null}"...)
	}
	return append(append(dst, t.Answer...), '}')
}

// maxShown is how many rows without an answer the summary names.
const maxShown = 20

// WriteSummary writes for people how the threads ended, and names the first that were not answered. It reports whether all were.
func WriteSummary(w io.Writer, threads []*Thread) (all bool) {
	counts, outcomes := map[Status]int{}, map[tools.Outcome]int{}
	stages, calls, tokens := 0, 0, int64(0)
	for _, t := range threads {
		status, _ := t.status()
		counts[status]++
		stages, calls, tokens = max(stages, t.Stage), calls+len(t.Calls), tokens+t.Usage.TotalTokens
		for _, call := range t.Calls {
			outcomes[call.Outcome]++
		}
	}
	fmt.Fprintf(w, "%d rows, %d stages, %d tool calls, %d tokens\n", len(threads), stages, calls, tokens)
	for _, status := range Statuses() {
		if counts[status] > 0 {
			fmt.Fprintf(w, "  %-10s %d\n", status, counts[status])
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
		if outcome != tools.OK {
			fmt.Fprintf(w, "tool calls that ended %s: %d\n", outcome, outcomes[outcome])
		}
	}
	writeUnanswered(w, threads, len(threads)-counts[Answered])
	return counts[Answered] == len(threads)
}

// writeUnanswered names rows, of so many, that have no answer. Foreign text is quoted: it does nothing to a terminal then.
func writeUnanswered(w io.Writer, threads []*Thread, of int) {
	shown := 0
	for _, t := range threads {
		if status, why := t.status(); status != Answered && shown < maxShown {
			fmt.Fprintf(w, "no answer: %q %s in stage %d: %q\n", t.ID, status, t.Stage, why)
			shown++
		}
	}
	if of > shown {
		fmt.Fprintf(w, "and %d more without an answer\n", of-shown)
	}
}
