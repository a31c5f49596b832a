package doubleword

import (
	"fmt"
	"iter"
)

// fullPage is the page size of the All… calls, just below the provider's clamp of 101.
const fullPage = 100

// DefaultMaxPages is how many pages the All… calls follow: 200 000 entries. A search for one job's batches or files shows far less, and one
// that shows more is a list of ever new entries, which would be read, and kept in memory, for ever.
const DefaultMaxPages = 2000

func allLimit(limit int) int {
	if limit <= 0 {
		return fullPage
	}
	return limit
}

// entry is an object of a list.
type entry interface {
	answer
	cursor() string
}

// wireList is the provider's list envelope.
type wireList[T entry] struct {
	Data    *[]T        `json:"data"`
	LastID  looseString `json:"last_id"`
	HasMore looseBool   `json:"has_more"`
}

// valid refuses an object that is no list: an empty list must be the provider's word, not an error page read as JSON.
func (l wireList[T]) valid() bool {
	if l.Data == nil {
		return false
	}
	for _, e := range *l.Data {
		if !e.valid() {
			return false
		}
	}
	return true
}

func (l wireList[T]) last() string {
	entries := *l.Data
	if l.LastID != "" || len(entries) == 0 {
		return string(l.LastID)
	}
	return entries[len(entries)-1].cursor()
}

// notWhole is the error of a list that cannot be trusted to be whole.
func notWhole(route string, cause error) error {
	return &Error{Route: route, Class: Retryable, cause: cause}
}

// fetchPage reads the page after a cursor, and says where the next begins and whether there is one.
type fetchPage[T any] func(after string) (entries []T, last string, more bool, err error)

// allPages walks a list, most pages of it. The provider answers a cursor it does not know with page one, so an entry seen before ends the walk.
func allPages[T any](route, after string, most int, fetch fetchPage[T], id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		walk := pageWalk[T]{seen: map[string]struct{}{after: {}}, id: id, loop: notWhole(route, ErrPageLoop)}
		var none T
		for range most {
			next, more, err := walk.page(after, fetch, yield)
			if err != nil {
				yield(none, err)
			}
			if err != nil || !more {
				return
			}
			after = next
		}
		yield(none, notWhole(route, fmt.Errorf("%w after %d pages", ErrEndless, most)))
	}
}

type pageWalk[T any] struct {
	seen map[string]struct{}
	id   func(T) string
	loop error
}

// page yields one page, and says where the next begins; more is false at the end of the list and when yield wants no more.
func (w *pageWalk[T]) page(after string, fetch fetchPage[T], yield func(T, error) bool) (next string, more bool, err error) {
	entries, last, more, err := fetch(after)
	if err != nil {
		return "", false, err
	}
	for _, e := range entries {
		id := w.id(e)
		if _, again := w.seen[id]; again {
			return "", false, w.loop
		}
		w.seen[id] = struct{}{}
		if !yield(e, nil) {
			return "", false, nil
		}
	}
	if more && (len(entries) == 0 || last == after) {
		return "", false, w.loop
	}
	return last, more, nil
}
