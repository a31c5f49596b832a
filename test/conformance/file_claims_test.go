package conformance_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

func writes(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// fileClaims are about the input file of the batches.
func fileClaims() []claim {
	return []claim{
		{"an upload says 201 and a bare UUID", "1.1, 2.1", "201, a UUID", false, func(ctx context.Context, a *asking) finding {
			r := a.upload(ctx, "plain", a.row("a", ""))
			id, _ := r.field("id").(string)
			return judged(r.status == http.StatusCreated && bareUUID(id), "%d, id %q", r.status, id)
		}},
		{"a file is found by its name", "3.1", "the file", true, func(ctx context.Context, a *asking) finding {
			found := 0
			a.settled(ctx, func() bool {
				found = 0
				for f, err := range a.client.AllFiles(ctx, doubleword.FileQuery{Search: a.token}) {
					if err == nil && f.ID == a.input.ID {
						found++
					}
				}
				return found > 0
			})
			return judged(found == 1, "%d times", found)
		}},
		{"a list of files is searched by name", "3.1", "no file of another name", false, func(ctx context.Context, a *asking) finding {
			page, err := a.client.Files(ctx, doubleword.FileQuery{Search: a.token + "-none"})
			return judged(err == nil && len(page.Files) == 0, "%d files, %v", len(page.Files), err)
		}},
		{"limit=0 is one entry", "3.1", "1 file", false, func(ctx context.Context, a *asking) finding {
			r := a.get(ctx, "/files?limit=0")
			list, _ := r.field("data").([]any)
			return judged(len(list) == 1, "%d, %d files", r.status, len(list))
		}},
		{"the page after a file begins behind it", "3.1", "another file", true, func(ctx context.Context, a *asking) finding {
			first, err := a.client.Files(ctx, doubleword.FileQuery{Limit: 1})
			if err != nil || len(first.Files) == 0 {
				return unseen("no first page: %v", err)
			}
			next, err := a.client.Files(ctx, doubleword.FileQuery{Limit: 1, After: first.Last})
			return judged(err == nil && len(next.Files) == 1 && next.Files[0].ID != first.Files[0].ID, "%d files, %v", len(next.Files), err)
		}},
		{"an unknown after is page one again", "3.1", "page one", false, func(ctx context.Context, a *asking) finding {
			first, again := a.get(ctx, "/files?limit=1"), a.get(ctx, "/files?limit=1&after="+noID)
			return judged(again.status == http.StatusOK && first.field("first_id") == again.field("first_id"), "%d", again.status)
		}},
		{"the input reads whole and in order", "3.4", "every row; X-Incomplete false, no X-Last-Line", false, func(ctx context.Context, a *asking) finding {
			return a.content(ctx, a.input.ID, "").tells(goodRows+1, "false", "")
		}},
		{"a page of the input has exact headers", "3.4", "2 lines, true, 3", false, func(ctx context.Context, a *asking) finding {
			return a.content(ctx, a.input.ID, "?skip=1&limit=2").tells(2, "true", "3")
		}},
		{"skip is the cursor", "0.1, 3.4", "the last 2 lines", false, func(ctx context.Context, a *asking) finding {
			whole, rest := a.content(ctx, a.input.ID, ""), a.content(ctx, a.input.ID, "?skip=4")
			return judged(len(linesOf(rest.body)) == 2 && strings.HasSuffix(whole.body, rest.body), "%s", rest.headers())
		}},
		{"offset is ignored", "0.1, 3.4", "the whole file", false, func(ctx context.Context, a *asking) finding {
			r := a.content(ctx, a.input.ID, "?offset=4")
			return judged(len(linesOf(r.body)) == goodRows+1, "%s", r.headers())
		}},
		{"a stored body has its keys sorted", "2.4", "max_tokens before messages before model", false, sortedKeys},
		{"a cost estimate counts the rows", "3.5", "total_requests, total_estimated_cost as text", false, func(ctx context.Context, a *asking) finding {
			r := a.get(ctx, "/files/"+a.input.ID+"/cost-estimate?completion_window="+a.window)
			_, text := r.field("total_estimated_cost").(string)
			return judged(r.field("total_requests") == float64(goodRows+1) && text, "%v", r)
		}},
	}
}

func sortedKeys(ctx context.Context, a *asking) finding {
	r := a.content(ctx, a.input.ID, "?limit=1")
	var stored struct {
		Body json.RawMessage `json:"body"`
	}
	if len(linesOf(r.body)) == 0 || json.Unmarshal([]byte(linesOf(r.body)[0]), &stored) != nil {
		return unseen("%v", r)
	}
	tokens, messages, model := strings.Index(string(stored.Body), `"max_tokens"`), strings.Index(string(stored.Body), `"messages"`), strings.Index(string(stored.Body), `"model"`)
	return judged(tokens < messages && messages < model, "%s", stored.Body)
}
