package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

const noID = "00000000-0000-4000-8000-000000000000"

func bareUUID(id string) bool {
	return regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(id)
}

// callClaims cost nothing and leave nothing.
func callClaims() []claim {
	return []claim{
		{"a key that does not exist is denied", "1.2", "401, text", false, func(ctx context.Context, a *asking) finding {
			r := a.send(ctx, http.MethodGet, "/files", "no-such-key", "", nil)
			if r.status == http.StatusOK {
				return unseen("%d: the server takes any key", r.status)
			}
			return judged(r.status == http.StatusUnauthorized && isText(r), "%v", r)
		}},
		{"an id that never was is not found", "1.4", "404", true, func(ctx context.Context, a *asking) finding {
			_, err := a.client.Batch(ctx, noID)
			return judged(strings.Contains(fmt.Sprint(err), "status 404"), "%v", err)
		}},
		{"errors are plain text", "1.3", "text/plain", false, func(ctx context.Context, a *asking) finding {
			r := a.get(ctx, "/batches/"+noID)
			return judged(isText(r), "%v", r)
		}},
		{"an id with a prefix is malformed", "1.1", "400", false, func(ctx context.Context, a *asking) finding {
			r := a.get(ctx, "/batches/batch_"+noID)
			return judged(r.status == http.StatusBadRequest, "%v", r)
		}},
		{"an unknown status filter is refused", "6", "400", false, func(ctx context.Context, a *asking) finding {
			r := a.get(ctx, "/batches?status=nonsense")
			return judged(r.status == http.StatusBadRequest, "%d", r.status)
		}},
		{"models lists the model that is asked for", "10", "its id", false, func(ctx context.Context, a *asking) finding {
			models, err := a.client.Models(ctx)
			for _, m := range models {
				if m.ID == a.model {
					return judged(true, "it is there")
				}
			}
			return judged(false, "not among %d models, %v", len(models), err)
		}},
	}
}

func isText(r reply) bool { return strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") }

// uploadClaims try what an upload may contain.
func uploadClaims() []claim {
	return []claim{
		{"a byte order mark spoils the first row", "2.3", "400", false, func(ctx context.Context, a *asking) finding {
			return a.refused(ctx, "bom", "\ufeff"+a.row("a", ""))
		}},
		{"a file without rows is refused", "2.3", "400", false, func(ctx context.Context, a *asking) finding {
			return a.refused(ctx, "empty", "\n\n")
		}},
		{"a custom_id of 65 bytes is refused", "2.4", "400", false, func(ctx context.Context, a *asking) finding {
			return a.refused(ctx, "long", a.row(strings.Repeat("x", 65), ""))
		}},
		{"a custom_id is measured in bytes", "2.4", "33 letters of two bytes: 400", false, func(ctx context.Context, a *asking) finding {
			return a.refused(ctx, "bytes", a.row(strings.Repeat("é", 33), ""))
		}},
		{"a refused row is named by its place among the rows that are not blank", "2.3", "Line 3", true, namedRow},
		{"a custom_id may stand twice", "2.4", "accepted", false, func(ctx context.Context, a *asking) finding {
			r := a.upload(ctx, "twice", a.row("a", "")+a.row("a", ""))
			return judged(r.status < 300, "%v", r)
		}},
		{"a model that nobody configured is forbidden", "2.4", "403", false, func(ctx context.Context, a *asking) finding {
			r := a.upload(ctx, "model", strings.Replace(a.row("a", ""), `"model":"`, `"model":"unknown/`, 1))
			return judged(r.status == http.StatusForbidden, "%v", r)
		}},
	}
}

func (a *asking) refused(ctx context.Context, name, rows string) finding {
	r := a.upload(ctx, name, rows)
	return judged(r.status == http.StatusBadRequest, "%v", r)
}

// namedRow: batchbus takes out the row that a refusal names, so a wrong number would cost a good row.
func namedRow(ctx context.Context, a *asking) finding {
	rows := "\n" + a.row("a", "") + "  \n\n" + a.row("b", "") + strings.Replace(a.row("c", ""), `"POST"`, `"PUT"`, 1)
	_, err := a.client.UploadFile(ctx, a.token+"-named.jsonl", writes(rows))
	n, ok := doubleword.LineOf(err)
	switch {
	case err == nil:
		return unseen("the upload was accepted")
	case !ok:
		return unseen("no row is named: %v", err)
	}
	return judged(n == 3, "line %d", n)
}
