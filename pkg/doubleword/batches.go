package doubleword

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// wireBatch reads any batch object liberally.
type wireBatch struct {
	ID               looseString  `json:"id"`
	Status           looseString  `json:"status"`
	Endpoint         looseString  `json:"endpoint"`
	CompletionWindow looseString  `json:"completion_window"`
	InputFileID      looseString  `json:"input_file_id"`
	OutputFileID     looseString  `json:"output_file_id"`
	ErrorFileID      looseString  `json:"error_file_id"`
	CreatedAt        looseTime    `json:"created_at"`
	ExpiresAt        looseTime    `json:"expires_at"`
	InProgressAt     looseTime    `json:"in_progress_at"`
	FinalizingAt     looseTime    `json:"finalizing_at"`
	CompletedAt      looseTime    `json:"completed_at"`
	FailedAt         looseTime    `json:"failed_at"`
	CancelledAt      looseTime    `json:"cancelled_at"`
	Counts           wireCounts   `json:"request_counts"`
	Metadata         looseStrings `json:"metadata"`
	Errors           looseErrors  `json:"errors"`
}

type wireCounts struct {
	Total     looseNumber `json:"total"`
	Completed looseNumber `json:"completed"`
	Failed    looseNumber `json:"failed"`
}

// mostRows is more than any batch has: the provider's own limit of a file is far below a billion rows.
const mostRows = 1_000_000_000

// counts are none, and not possible, when one of them is negative or more than any batch can have.
func (w wireCounts) counts() (c Counts, possible bool) {
	for _, n := range []looseNumber{w.Total, w.Completed, w.Failed} {
		if n < 0 || n > mostRows {
			return Counts{}, false
		}
	}
	return Counts{Total: int(w.Total.int()), Completed: int(w.Completed.int()), Failed: int(w.Failed.int())}, true
}

func (w wireBatch) valid() bool { return w.ID != "" }

func (w wireBatch) cursor() string { return string(w.ID) }

func (w wireBatch) batch() Batch {
	counts, possible := w.Counts.counts()
	return Batch{
		ID: string(w.ID), Status: string(w.Status), Endpoint: string(w.Endpoint), CompletionWindow: string(w.CompletionWindow),
		InputFileID: string(w.InputFileID), OutputFileID: string(w.OutputFileID), ErrorFileID: string(w.ErrorFileID),
		CreatedAt: w.CreatedAt.Time, ExpiresAt: w.ExpiresAt.Time, InProgressAt: w.InProgressAt.Time, FinalizingAt: w.FinalizingAt.Time,
		CompletedAt: w.CompletedAt.Time, FailedAt: w.FailedAt.Time, CancelledAt: w.CancelledAt.Time,
		Counts: counts, CountsImpossible: !possible,
		Metadata: w.Metadata, Errors: w.Errors,
	}
}

// CreateBatch asks for a batch, which costs money. It makes exactly one HTTP attempt, under the create timeout, that nothing below can
// repeat: no idempotency key, no body that can be read twice, no redirect.
//
// After an Ambiguous error (timeout, lost connection, 5xx, 404, an answer without an id) the batch may or may not exist, and may still
// come to exist; search for its metadata before anything else. After a Permanent or Retryable one it does not exist.
func (c *Client) CreateBatch(ctx context.Context, batch NewBatch) (Batch, error) {
	body, err := json.Marshal(batch)
	if err != nil {
		return Batch{}, fmt.Errorf("encode batch: %w", err)
	}
	w, err := once[wireBatch](ctx, c, call{
		method: http.MethodPost, pattern: "/batches", does: paid,
		body: bytes.NewReader(body), header: http.Header{"Content-Type": {"application/json"}},
	}, c.config.CreateTimeout)
	if err != nil {
		return Batch{}, err
	}
	return w.batch(), nil
}

// Batch reads one batch. It is repeated inside for a short time. A 404 or 401 may be an outage: see [Permanent].
func (c *Client) Batch(ctx context.Context, id string) (Batch, error) {
	w, err := read[wireBatch](ctx, c, call{method: http.MethodGet, pattern: "/batches/{id}", id: id})
	if err != nil {
		return Batch{}, err
	}
	return w.batch(), nil
}

// CancelBatch asks the provider to start no more rows of a batch. Repeating it changes nothing more, so a failed call can be repeated;
// it is not repeated inside. It also turns a batch that has ended into `cancelled`: read it first. Rows in flight may still finish, and be
// billed, afterwards.
func (c *Client) CancelBatch(ctx context.Context, id string) (Batch, error) {
	w, err := once[wireBatch](ctx, c, call{method: http.MethodPost, pattern: "/batches/{id}/cancel", id: id}, c.config.CallTimeout)
	if err != nil {
		return Batch{}, err
	}
	return w.batch(), nil
}

// Batches reads one page of batches. It is repeated inside for a short time.
func (c *Client) Batches(ctx context.Context, q BatchQuery) (BatchPage, error) {
	k := call{method: http.MethodGet, pattern: "/batches", query: listQuery(q.Search, "", q.After, q.Limit)}
	w, err := read[wireList[wireBatch]](ctx, c, k)
	if err != nil {
		return BatchPage{}, err
	}
	page := BatchPage{HasMore: bool(w.HasMore), Last: w.last()}
	for _, b := range *w.Data {
		page.Batches = append(page.Batches, b.batch())
	}
	return page, nil
}

// AllBatches reads page after page, starting with q, and yields each batch once. It ends after the first error it yields, which is
// [ErrPageLoop] when the provider ignores the cursor and [ErrEndless] when more than q.MaxPages pages follow; then the list is not whole.
func (c *Client) AllBatches(ctx context.Context, q BatchQuery) iter.Seq2[Batch, error] {
	q.Limit = allLimit(q.Limit)
	most := q.MaxPages
	if most <= 0 {
		most = DefaultMaxPages
	}
	return allPages("GET /batches", q.After, most, func(after string) ([]Batch, string, bool, error) {
		q.After = after
		page, err := c.Batches(ctx, q)
		return page.Batches, page.Last, page.HasMore, err
	}, func(b Batch) string { return b.ID })
}

func listQuery(search, purpose, after string, limit int) url.Values {
	q := url.Values{}
	for key, value := range map[string]string{"search": search, "purpose": purpose, "after": after} {
		if value != "" {
			q.Set(key, value)
		}
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return q
}
