package doubleword

import "iter"

// fullPage is the page size of the All… calls, just below the provider's clamp of 101.
const fullPage = 100

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

// pageLoop is the error of a list that cannot be trusted to be whole.
func pageLoop(route string) error {
	return &Error{Route: route, Class: Retryable, cause: ErrPageLoop}
}

// allPages walks a list. The provider answers a cursor it does not know with page one, so an entry seen before ends the walk.
func allPages[T any](route, after string, page func(after string) (entries []T, last string, more bool, err error), id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		seen := map[string]struct{}{after: {}}
		for cursor := after; ; {
			entries, last, more, err := page(cursor)
			if err != nil {
				yield(none, err)
				return
			}
			for _, entry := range entries {
				if _, again := seen[id(entry)]; again {
					yield(none, pageLoop(route))
					return
				}
				seen[id(entry)] = struct{}{}
				if !yield(entry, nil) {
					return
				}
			}
			if !more {
				return
			}
			if len(entries) == 0 || last == cursor {
				yield(none, pageLoop(route))
				return
			}
			cursor = last
		}
	}
}
