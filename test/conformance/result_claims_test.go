package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// await waits for the end of the batch and reads both files.
func (a *asking) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	for {
		batch, err := a.client.Batch(ctx, a.batch.ID)
		if err == nil {
			a.batch = batch
		}
		if err == nil && batch.Terminal() {
			break
		}
		if !pause(ctx, a.interval) {
			return fmt.Errorf("batch %s is still %s after %v: %w", a.batch.ID, a.batch.Status, a.patience, ctx.Err())
		}
	}
	a.lines = map[string][]doubleword.Line{}
	for _, fileID := range []string{a.batch.OutputFileID, a.batch.ErrorFileID} {
		if fileID == "" {
			continue
		}
		if err := a.read(ctx, fileID); err != nil {
			return err
		}
	}
	if a.batch.OutputFileID != "" {
		a.output = a.content(ctx, a.batch.OutputFileID, "")
	}
	return nil
}

func (a *asking) read(ctx context.Context, fileID string) error {
	content, err := a.client.Content(ctx, fileID, doubleword.ContentQuery{})
	if err != nil {
		return err
	}
	defer content.Body.Close()
	lines := doubleword.NewScanner(content.Body, 0)
	for lines.Scan() {
		l, err := doubleword.ParseLine([]byte(string(lines.Bytes())))
		if err != nil {
			return fmt.Errorf("read a line of %s: %w", fileID, err)
		}
		a.lines[l.CustomID] = append(a.lines[l.CustomID], l)
	}
	return lines.Err()
}

// resultClaims are about the end of the batch and its files.
func resultClaims() []claim {
	return []claim{
		{"every row stands in one of the two files, once, with its custom_id", "7.3", "6 rows, byte for byte", true, everyRowOnce},
		{"the counts agree with the files", "5.2", "5 completed, 1 failed", true, func(_ context.Context, a *asking) finding {
			c, failed := a.batch.Counts, 0
			for _, lines := range a.lines {
				if lines[0].Err != nil {
					failed++
				}
			}
			return judged(c.Total == goodRows+1 && c.Failed == failed && c.Completed == len(a.lines)-failed, "%+v, %d lines, %d of them failed", c, len(a.lines), failed)
		}},
		{"a partial failure is completed", "5.2", "completed", false, func(_ context.Context, a *asking) finding {
			return judged(a.batch.Status == doubleword.StatusCompleted, "%s", a.batch.Status)
		}},
		{"an output line has id, custom_id, response and error, and no request id", "7.1", "batch_req_, null", false, outputShape},
		{"a refused row's error is JSON in a string", "7.2", "NonRetriableHttpStatus, 400, no response", false, errorShape},
		{"a refused row is permanent", "7.2", "status 400", true, func(_ context.Context, a *asking) finding {
			lines := a.lines[badID]
			switch {
			case len(lines) == 0:
				return unseen("the row is not there")
			case lines[0].Err == nil:
				return unseen("the model took it")
			}
			return judged(!lines[0].Err.Retryable && lines[0].Err.StatusCode >= 400, "status %d, retryable %v", lines[0].Err.StatusCode, lines[0].Err.Retryable)
		}},
		{"an ended output says so", "3.4", "5 lines, false, 5", false, func(_ context.Context, a *asking) finding { return a.output.tells(goodRows, "false", "5") }},
		{"a page of the output has exact headers", "3.4", "2 lines, true, 3", false, func(ctx context.Context, a *asking) finding {
			return a.content(ctx, a.batch.OutputFileID, "?skip=1&limit=2").tells(2, "true", "3")
		}},
		{"skip pages through the output", "9.1", "the last 3 lines", false, func(ctx context.Context, a *asking) finding {
			r := a.content(ctx, a.batch.OutputFileID, "?skip=2")
			return judged(len(linesOf(r.body)) == goodRows-2 && strings.HasSuffix(a.output.body, r.body), "%s", r.headers())
		}},
		{"skip past the end is an empty page", "3.4", "0 lines, false, 99", false, func(ctx context.Context, a *asking) finding {
			return a.content(ctx, a.batch.OutputFileID, "?skip=99").tells(0, "false", "99")
		}},
		{"an ended output reads the same again", "3.4", "the same bytes", true, func(ctx context.Context, a *asking) finding {
			r := a.content(ctx, a.batch.OutputFileID, "")
			return judged(r.body == a.output.body && r.body != "", "%s", r.headers())
		}},
		{"what was read early comes first", "3.4", "the early lines", false, func(_ context.Context, a *asking) finding {
			if a.early.body == "" {
				return unseen("there was nothing to read early")
			}
			return judged(strings.HasPrefix(a.output.body, a.early.body), "%d lines early", len(linesOf(a.early.body)))
		}},
		{"results show every row in input order", "3.6", "6 lines", false, inInputOrder},
		{"analytics bill the tokens of the answers", "5.4", "the sum of usage", false, billed},
	}
}

func everyRowOnce(_ context.Context, a *asking) finding {
	var wrong []string
	for _, id := range append(a.customIDs(), badID) {
		if n := len(a.lines[id]); n != 1 {
			wrong = append(wrong, fmt.Sprintf("%s %d times", id, n))
		}
	}
	return judged(len(wrong) == 0 && len(a.lines) == goodRows+1, "%d ids; %s", len(a.lines), strings.Join(wrong, ", "))
}

func outputShape(_ context.Context, a *asking) finding {
	lines := linesOf(a.output.body)
	if len(lines) == 0 {
		return unseen("no output")
	}
	var row struct {
		ID       string `json:"id"`
		Response struct {
			StatusCode int             `json:"status_code"`
			RequestID  json.RawMessage `json:"request_id"`
			Body       json.RawMessage `json:"body"`
		} `json:"response"`
		Error json.RawMessage `json:"error"`
	}
	err := json.Unmarshal([]byte(lines[0]), &row)
	ok := err == nil && strings.HasPrefix(row.ID, "batch_req_") && row.Response.StatusCode == 200 &&
		string(row.Response.RequestID) == "null" && string(row.Error) == "null" && strings.HasPrefix(string(row.Response.Body), "{")
	return judged(ok, "id %s, status %d, request_id %s, error %s", row.ID, row.Response.StatusCode, row.Response.RequestID, row.Error)
}

func errorShape(ctx context.Context, a *asking) finding {
	if a.batch.ErrorFileID == "" {
		return unseen("no error file")
	}
	lines := linesOf(a.content(ctx, a.batch.ErrorFileID, "").body)
	if len(lines) == 0 {
		return unseen("no error line")
	}
	var row struct {
		Response json.RawMessage `json:"response"`
		Error    struct {
			Code    json.RawMessage `json:"code"`
			Message string          `json:"message"`
		} `json:"error"`
	}
	var reason struct {
		Type    string `json:"type"`
		Details struct {
			Status int `json:"status"`
		} `json:"details"`
	}
	err := json.Unmarshal([]byte(lines[0]), &row)
	if err == nil {
		err = json.Unmarshal([]byte(row.Error.Message), &reason)
	}
	ok := err == nil && string(row.Response) == "null" && string(row.Error.Code) == "null" && reason.Type == "NonRetriableHttpStatus" && reason.Details.Status == 400
	return judged(ok, "%s", lines[0])
}

func inInputOrder(ctx context.Context, a *asking) finding {
	content, err := a.client.Results(ctx, a.batch.ID, doubleword.ContentQuery{})
	if err != nil {
		return judged(false, "%v", err)
	}
	defer content.Body.Close()
	var got []string
	for lines := doubleword.NewScanner(content.Body, 0); lines.Scan(); {
		l, _ := doubleword.ParseLine([]byte(string(lines.Bytes())))
		got = append(got, l.CustomID)
	}
	want := append(a.customIDs(), badID)
	return judged(strings.Join(got, "\n") == strings.Join(want, "\n"), "%d lines", len(got))
}

func billed(ctx context.Context, a *asking) finding {
	var want int64
	for _, lines := range a.lines {
		want += lines[0].Usage.PromptTokens + lines[0].Usage.CompletionTokens
	}
	var sums doubleword.Analytics
	var err error
	ok := a.settled(ctx, func() bool {
		sums, err = a.client.Analytics(ctx, a.batch.ID)
		return doubleword.ClassOf(err) == doubleword.Permanent || (err == nil && sums.TotalTokens >= want)
	})
	if err != nil {
		return judged(false, "%v", err)
	}
	return judged(ok && sums.TotalTokens == want && sums.Cost != "", "%d tokens of %d, cost %q", sums.TotalTokens, want, sums.Cost)
}
