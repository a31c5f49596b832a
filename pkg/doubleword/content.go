package doubleword

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Content opens the lines of a file from q.Skip on. Opening is repeated inside for a short time; the body is the caller's to read, and to
// read again from its cursor when it breaks off. The order is not the input's, and a late row may appear before the cursor.
func (c *Client) Content(ctx context.Context, fileID string, q ContentQuery) (*Content, error) {
	return c.open(ctx, call{method: http.MethodGet, pattern: "/files/{id}/content", id: fileID, query: q.values()})
}

// Results opens the merged view of a batch: one flat line per row in input order, rows without an outcome included. Opening is repeated
// inside for a short time.
func (c *Client) Results(ctx context.Context, batchID string, q ContentQuery) (*Content, error) {
	return c.open(ctx, call{method: http.MethodGet, pattern: "/batches/{id}/results", id: batchID, query: q.values()})
}

// values names the cursor twice: the server's source reads skip, its documents say offset, and each ignores what it does not know.
func (q ContentQuery) values() url.Values {
	v := url.Values{}
	if q.Skip > 0 {
		v.Set("skip", strconv.Itoa(q.Skip))
		v.Set("offset", strconv.Itoa(q.Skip))
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

func (c *Client) open(ctx context.Context, k call) (content *Content, err error) {
	err = c.repeat(ctx, func() (err error) {
		content, err = c.openOnce(ctx, k)
		return err
	})
	return content, err
}

func (c *Client) openOnce(ctx context.Context, k call) (*Content, error) {
	place, err := c.begin(ctx, k)
	if err != nil {
		return nil, err
	}
	ctx, cut := context.WithCancelCause(ctx)
	watched, dog, stop := newWatchdog(ctx, c.config.IdleTimeout)
	place.download(cut)
	over := func() { stop(); cut(context.Canceled); place.end() }
	resp, err := c.send(watched, k) //nolint:bodyclose // the caller closes Content.Body
	if err != nil {
		over()
		return nil, err
	}
	dog.pause()
	place.waits(false)
	content := contentOf(resp.Header)
	content.Body = &idleBody{
		body: resp.Body, dog: dog, place: place, stop: over,
		wrap: func(err error) error {
			e := c.failed(k.route(), harmless, fmt.Errorf("read content: %w", contextCause(watched, err)))
			e.Status = resp.StatusCode
			return e
		},
	}
	return content, nil
}

func contentOf(h http.Header) *Content {
	var content Content
	switch strings.ToLower(strings.TrimSpace(h.Get("X-Incomplete"))) {
	case "true":
		content.Incomplete, content.HasIncomplete = true, true
	case "false":
		content.HasIncomplete = true
	}
	if n, err := strconv.Atoi(strings.TrimSpace(h.Get("X-Last-Line"))); err == nil && n >= 0 {
		content.LastLine, content.HasLastLine = n, true
	}
	return &content
}
