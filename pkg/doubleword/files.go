package doubleword

import (
	"context"
	"errors"
	"iter"
	"net/http"
)

// wireFile reads any file object liberally.
type wireFile struct {
	ID        looseString `json:"id"`
	Filename  looseString `json:"filename"`
	Purpose   looseString `json:"purpose"`
	Bytes     looseNumber `json:"bytes"`
	CreatedAt looseTime   `json:"created_at"`
	ExpiresAt looseTime   `json:"expires_at"`
}

func (w wireFile) valid() bool { return w.ID != "" }

func (w wireFile) cursor() string { return string(w.ID) }

func (w wireFile) file() File {
	return File{
		ID: string(w.ID), Filename: string(w.Filename), Purpose: string(w.Purpose), Bytes: w.Bytes.int(),
		CreatedAt: w.CreatedAt.Time, ExpiresAt: w.ExpiresAt.Time,
	}
}

// wireDeleted reads the answer to a delete.
type wireDeleted struct {
	Deleted looseBool `json:"deleted"`
}

func (wireDeleted) valid() bool { return true }

// DeleteFile deletes a file, and by that cancels the unfinished batches of an input file. true is the provider's word that this call
// deleted it. false without an error means 404, or an answer that does not say deleted: the file is unknown, not ours, deleted before
// (perhaps by an attempt inside this call whose answer was lost), or the provider's storage failed; confirm by a listing. After an error
// the file may be deleted or not; repeating is harmless. It is repeated inside for a short time.
func (c *Client) DeleteFile(ctx context.Context, id string) (deleted bool, err error) {
	w, err := read[wireDeleted](ctx, c, call{method: http.MethodDelete, pattern: "/files/{id}", id: id})
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusNotFound {
		return false, nil
	}
	return bool(w.Deleted), err
}

// Files reads one page of files. It is repeated inside for a short time.
func (c *Client) Files(ctx context.Context, q FileQuery) (FilePage, error) {
	k := call{method: http.MethodGet, pattern: "/files", query: listQuery(q.Search, q.Purpose, q.After, q.Limit)}
	w, err := read[wireList[wireFile]](ctx, c, k)
	if err != nil {
		return FilePage{}, err
	}
	page := FilePage{HasMore: bool(w.HasMore), Last: w.last()}
	for _, f := range *w.Data {
		page.Files = append(page.Files, f.file())
	}
	return page, nil
}

// AllFiles reads page after page, starting with q, and yields each file once. It ends after the first error it yields, which is
// [ErrPageLoop] when the provider ignores the cursor and [ErrEndless] after [DefaultMaxPages] pages; then the list is not whole.
func (c *Client) AllFiles(ctx context.Context, q FileQuery) iter.Seq2[File, error] {
	q.Limit = allLimit(q.Limit)
	return allPages("GET /files", q.After, DefaultMaxPages, func(after string) ([]File, string, bool, error) {
		q.After = after
		page, err := c.Files(ctx, q)
		return page.Files, page.Last, page.HasMore, err
	}, func(f File) string { return f.ID })
}
