package simulator

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// list is the envelope of both lists; the ids are omitted when it is empty.
type list[T any] struct {
	Object  string `json:"object"`
	Data    []T    `json:"data"`
	FirstID string `json:"first_id,omitempty"`
	LastID  string `json:"last_id,omitempty"`
	HasMore bool   `json:"has_more"`
}

// page cuts one page out of the matches. An after that is not among them yields page one again.
func page[T any](matches []T, id func(T) string, q query) ([]T, bool) {
	if i := slices.IndexFunc(matches, func(m T) bool { return id(m) == q.after }); i >= 0 {
		matches = matches[i+1:]
	}
	if size := q.pageSize(); len(matches) > size {
		return matches[:size], true
	}
	return matches, false
}

func (s *Simulator) listFiles(w http.ResponseWriter, r *http.Request, c call) error {
	q, err := s.query(r.URL.Query(), "limit", "after", "order", "purpose", "search")
	if err == nil {
		err = s.authorize(r)
	}
	if err != nil {
		return err
	}
	q = s.faultyPage(q, c)
	out := list[fileObject]{Object: "list", Data: []fileObject{}}
	s.mu.Lock()
	matches := s.matchingFiles(q, s.visibleUntil(c))
	var files []*file
	files, out.HasMore = page(matches, func(f *file) string { return f.ID }, q)
	for _, f := range files {
		out.Data = append(out.Data, f.described())
	}
	s.mu.Unlock()
	if n := len(out.Data); n > 0 {
		out.FirstID, out.LastID = out.Data[0].ID, out.Data[n-1].ID
	}
	return replyJSON(w, http.StatusOK, out)
}

// faultyPage forgets where the page begins when a fault wants that.
func (s *Simulator) faultyPage(q query, c call) query {
	if _, ok := s.faultAt(FaultAfterIgnored, c); ok {
		q.after = ""
	}
	return q
}

// visibleUntil is the creation time up to which a list sees; a lagging replica sees less.
func (s *Simulator) visibleUntil(c call) time.Time {
	f, _ := s.faultAt(FaultListLag, c)
	return time.Now().Add(-f.Delay)
}

func (s *Simulator) matchingFiles(q query, until time.Time) []*file {
	search := newLike(q.search)
	var matches []*file
	for _, f := range s.state.fileOrder {
		purpose := q.purpose == "" || q.purpose == f.Purpose
		if !f.deleted && purpose && !f.createdAt.After(until) && search.finds(f.Filename) {
			matches = append(matches, f)
		}
	}
	if q.order == "desc" {
		slices.Reverse(matches)
	}
	return matches
}

func (s *Simulator) listBatches(w http.ResponseWriter, r *http.Request, c call) error {
	q, err := s.query(r.URL.Query(), "limit", "after", "status", "search", "created_after", "created_before",
		"active_first", "completion_window", "include")
	if err == nil && q.status != "" {
		if unknown := oneOf(q.status, "in_progress", "completed", "failed", "cancelled", "expired"); unknown != nil {
			err = badRequest("Invalid status filter: %v", unknown)
		}
	}
	if err == nil {
		err = s.authorize(r)
	}
	if err != nil {
		return err
	}
	out, chosen, err := s.batchPage(s.faultyPage(q, c), c)
	if err != nil {
		return err
	}
	if q.analytics {
		for i, b := range chosen {
			if out.Data[i].Analytics, err = s.analytics(b); err != nil {
				return err
			}
		}
	}
	return replyJSON(w, http.StatusOK, out)
}

func (s *Simulator) batchPage(q query, c call) (list[batchObject], []*batch, error) {
	out := list[batchObject]{Object: "list", Data: []batchObject{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if err := s.sweep(now); err != nil {
		return out, nil, err
	}
	matches := s.matchingBatches(q, s.visibleUntil(c), now)
	chosen, more := page(matches, func(b *batch) string { return b.ID }, q)
	out.HasMore = more
	for _, b := range chosen {
		out.Data = append(out.Data, s.described(b, now))
	}
	if n := len(chosen); n > 0 {
		out.FirstID, out.LastID = chosen[0].ID, chosen[n-1].ID
	}
	return out, chosen, nil
}

// sweep stamps batches that nobody read by id, as the provider's job does some seconds after the last row.
func (s *Simulator) sweep(now time.Time) error {
	for _, b := range s.state.batchOrder {
		due := b.lastRowAt.Add(s.cfg.SweepInterval)
		if b.settled() && !now.Before(due) {
			if err := s.commit(event{Kind: evStamped, At: due, ID: b.ID}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Simulator) matchingBatches(q query, until, now time.Time) []*batch {
	search := newLike(q.search)
	var matches []*batch
	for _, b := range slices.Backward(s.state.batchOrder) {
		if b.deletedAt.IsZero() && !b.createdAt.After(until) && b.matches(q, now) && (q.search == "" || b.found(search)) {
			matches = append(matches, b)
		}
	}
	if q.activeFirst {
		slices.SortStableFunc(matches, func(a, b *batch) int { return activeRank(a) - activeRank(b) })
	}
	return matches
}

func activeRank(b *batch) int {
	if b.stored() == "in_progress" {
		return 0
	}
	return 1
}

func (b *batch) matches(q query, now time.Time) bool {
	switch {
	case q.windows != "" && !slices.Contains(strings.Split(q.windows, ","), b.Window):
		return false
	case !q.createdAfter.IsZero() && b.createdAt.Before(q.createdAfter):
		return false
	case !q.createdBefore.IsZero() && b.createdAt.After(q.createdBefore):
		return false
	case q.status == "expired":
		return b.overdue(now)
	}
	return q.status == "" || q.status == b.stored()
}

// stored is the status as the list filter sees it: by stamps, not by counts.
func (b *batch) stored() string {
	switch {
	case b.cancelled():
		return "cancelled"
	case !b.completedAt.IsZero():
		return "completed"
	case !b.failedAt.IsZero():
		return "failed"
	default:
		return "in_progress"
	}
}

func (b *batch) overdue(now time.Time) bool {
	if b.stored() == "in_progress" {
		return now.After(b.ExpiresAt)
	}
	return b.completedAt.After(b.ExpiresAt)
}

// found searches what the provider searches: the metadata's JSON, the input filename, the id.
func (b *batch) found(search like) bool {
	text, err := json.Marshal(b.metadata())
	if err != nil {
		return false
	}
	return search.finds(string(text)) || search.finds(b.input.Filename) || search.finds(b.ID)
}
