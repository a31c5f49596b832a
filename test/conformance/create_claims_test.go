package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// create is one attempt by plain HTTP: it is never repeated, since the server knows no idempotency.
func (a *asking) create(ctx context.Context) (reply, doubleword.Batch, error) {
	body, err := json.Marshal(doubleword.NewBatch{
		InputFileID: a.input.ID, Endpoint: "/v1/chat/completions", CompletionWindow: a.window, Metadata: map[string]string{"conformance": a.token},
	})
	if err != nil {
		return reply{}, doubleword.Batch{}, err
	}
	r := a.send(ctx, http.MethodPost, "/batches", a.key, "application/json", body)
	id, ok := r.field("id").(string)
	if r.status >= 300 || !ok {
		return r, doubleword.Batch{}, fmt.Errorf("create batch: %v", r)
	}
	batch := doubleword.Batch{ID: id}
	a.settled(ctx, func() bool { // a replica may not have it yet
		var read doubleword.Batch
		if read, err = a.client.Batch(ctx, id); err == nil {
			batch = read
		}
		return err == nil
	})
	return r, batch, err
}

// newBatchClaims are about a batch that was just made.
func newBatchClaims() []claim {
	return []claim{
		{"a create says 201 and a bare UUID", "1.1, 4", "201, a UUID", false, func(_ context.Context, a *asking) finding {
			return judged(a.created.status == http.StatusCreated && bareUUID(a.batch.ID), "%d, id %q", a.created.status, a.batch.ID)
		}},
		{"a new batch is validating and knows its rows", "4", "validating, 6 rows", false, func(_ context.Context, a *asking) finding {
			counts, _ := a.created.field("request_counts").(map[string]any)
			return judged(a.created.field("status") == "validating" && counts["total"] == float64(goodRows+1), "%v, %v rows", a.created.field("status"), counts["total"])
		}},
		{"both result files have ids from the start", "0.8, 5.1", "two ids", false, func(_ context.Context, a *asking) finding {
			out, bad := a.created.field("output_file_id"), a.created.field("error_file_id")
			return judged(out != nil && bad != nil && out != bad, "%v and %v", out, bad)
		}},
		{"the deadline is the window after the create", "4", "expires_at", false, func(_ context.Context, a *asking) finding {
			window, err := time.ParseDuration(a.window)
			got := a.batch.ExpiresAt.Sub(a.batch.CreatedAt)
			return judged(err == nil && got == window, "%v", got)
		}},
		{"metadata comes back, with additions", "5.1", "mine and request_source", false, func(_ context.Context, a *asking) finding {
			_, added := a.batch.Metadata["request_source"]
			return judged(a.batch.Metadata["conformance"] == a.token && added, "%d entries, mine among them: %v", len(a.batch.Metadata), a.batch.Metadata["conformance"] == a.token)
		}},
		{"a batch is found by a token in its metadata", "4, 6", "the batch, once", true, foundByToken},
		{"a list of batches is searched by metadata", "6", "no batch with another token", false, func(ctx context.Context, a *asking) finding {
			page, err := a.client.Batches(ctx, doubleword.BatchQuery{Search: a.token + "-none"})
			return judged(err == nil && len(page.Batches) == 0, "%d batches, %v", len(page.Batches), err)
		}},
		{"output is read while rows run", "3.4", "200, X-Incomplete true, X-Last-Line the lines sent", false, func(_ context.Context, a *asking) finding {
			switch {
			case a.created.field("output_file_id") == nil:
				return judged(false, "no output file before the end")
			case a.early.header.Get("X-Incomplete") == "false":
				return unseen("the batch ended before the first read")
			}
			return a.early.tells(len(linesOf(a.early.body)), "true", strconv.Itoa(len(linesOf(a.early.body))))
		}},
	}
}

// foundByToken is how batchbus learns what became of a create that was not answered.
func foundByToken(ctx context.Context, a *asking) finding {
	found := 0
	a.settled(ctx, func() bool {
		found = 0
		for b, err := range a.client.AllBatches(ctx, doubleword.BatchQuery{Search: a.token}) {
			if err == nil && b.Metadata["conformance"] == a.token {
				found++
			}
		}
		return found > 0
	})
	return judged(found == 1, "%d times", found)
}

// cancelClaims make a second batch of the same file and cancel it at once.
func cancelClaims() []claim {
	return []claim{
		{"a repeated create makes another batch", "4", "another id", false, func(ctx context.Context, a *asking) finding {
			_, batch, err := a.create(ctx)
			a.second = batch
			if err != nil {
				return unseen("%v", err)
			}
			return judged(batch.ID != a.batch.ID, "id %q after %q", batch.ID, a.batch.ID)
		}},
		{"a cancel is seen at once", "6", "cancelled, or cancelling", true, func(ctx context.Context, a *asking) finding {
			batch, err := a.client.CancelBatch(ctx, a.second.ID)
			if err != nil && batch.ID == "" {
				return unseen("%v", err)
			}
			return judged(batch.Status == doubleword.StatusCancelled || batch.Status == doubleword.StatusCancelling, "%s", batch.Status)
		}},
		{"a repeated cancel does no harm", "6", "200", false, func(ctx context.Context, a *asking) finding {
			_, err := a.client.CancelBatch(ctx, a.second.ID)
			return judged(err == nil, "%v", err)
		}},
		{"a cancelled batch starts no more rows", "6", "an end", true, func(ctx context.Context, a *asking) finding {
			var batch doubleword.Batch
			var err error
			ok := a.settled(ctx, func() bool {
				batch, err = a.client.Batch(ctx, a.second.ID)
				return err == nil && !batch.Alive()
			})
			return judged(ok, "%s, %d of %d rows done, %v", batch.Status, batch.Counts.Completed+batch.Counts.Failed, batch.Counts.Total, err)
		}},
	}
}
