package conformance_test

import (
	"context"
	"net/http"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// deletionClaims come last: they take away what the others need.
func deletionClaims() []claim {
	return []claim{
		{"a cancel turns even a completed batch cancelled", "9.12", "cancelled", false, func(ctx context.Context, a *asking) finding {
			batch, err := a.client.CancelBatch(ctx, a.batch.ID)
			return judged(batch.Status == doubleword.StatusCancelled, "%s, %v", batch.Status, err)
		}},
		{"an input file can be deleted", "3.3", "deleted", false, func(ctx context.Context, a *asking) finding {
			deleted, err := a.client.DeleteFile(ctx, a.input.ID)
			return judged(deleted && err == nil, "%v, %v", deleted, err)
		}},
		{"a deleted file is gone", "3.3", "404", false, func(ctx context.Context, a *asking) finding {
			return a.vanished(ctx, "/files/"+a.input.ID)
		}},
		{"a deleted input leaves its batches without a link", "3.3", `""`, false, func(ctx context.Context, a *asking) finding {
			r := a.get(ctx, "/batches/"+a.batch.ID)
			return judged(r.field("input_file_id") == "", "%#v", r.field("input_file_id"))
		}},
		{"results outlive their input file", "3.3", "the same output", true, func(ctx context.Context, a *asking) finding {
			if a.output.body == "" {
				return unseen("there was no output")
			}
			r := a.content(ctx, a.batch.OutputFileID, "")
			return judged(r.body == a.output.body, "%d, %s", r.status, r.headers())
		}},
		{"a deleted batch is gone, and the answer is 204", "6", "204, then 404", false, func(ctx context.Context, a *asking) finding {
			r := a.send(ctx, http.MethodDelete, "/batches/"+a.second.ID, a.key, "", nil)
			if gone := a.vanished(ctx, "/batches/"+a.second.ID); r.status == http.StatusNoContent || r.status >= 300 {
				return judged(r.status == http.StatusNoContent && gone.verdict == agrees, "%d, then %s", r.status, gone.seen)
			}
			return judged(false, "%v", r)
		}},
	}
}

func (a *asking) vanished(ctx context.Context, path string) finding {
	var r reply
	ok := a.settled(ctx, func() bool {
		r = a.get(ctx, path)
		return r.status == http.StatusNotFound
	})
	return judged(ok, "%d", r.status)
}

// cleanUp deletes what the run made, as far as the server lets it. It is best effort: what stays costs nothing and expires.
func (a *asking) cleanUp(ctx context.Context) {
	if a.batch.ID != "" {
		a.send(ctx, http.MethodDelete, "/batches/"+a.batch.ID, a.key, "", nil)
	}
	for _, id := range a.made {
		_, _ = a.client.DeleteFile(ctx, id)
	}
}
