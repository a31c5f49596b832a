package simulator

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// maxPage is where the provider clamps limit.
const maxPage = 101

// query holds the parameters that a route knows; the rest of the query string is ignored.
type query struct {
	limit         *int // clamped to 1..101
	skip          int
	search        string
	status        string
	after         string // the provider ignores what it does not know
	order         string
	purpose       string
	windows       string
	createdAfter  time.Time
	createdBefore time.Time
	activeFirst   bool
	analytics     bool
}

// parseQuery reads the known keys. It runs before authentication, as in the provider.
func parseQuery(values url.Values, known ...string) (query, error) {
	q := query{order: "desc"}
	for key, list := range values {
		if !slices.Contains(known, key) {
			continue
		}
		if err := q.set(key, list[0]); err != nil {
			return q, badRequest("Failed to deserialize query string: %s: %v", key, err)
		}
	}
	return q, nil
}

// query reads the known keys that the dialect knows too.
func (s *Simulator) query(values url.Values, known ...string) (query, error) {
	return parseQuery(values, s.cfg.Dialect.parameters(known)...)
}

func (q *query) set(key, value string) error {
	var err error
	switch key {
	case "limit":
		var n int
		n, err = strconv.Atoi(value)
		n = min(max(n, 1), maxPage)
		q.limit = &n
	case "skip":
		q.skip, err = strconv.Atoi(value)
		q.skip = max(q.skip, 0)
	case "search":
		q.search = value
	case "status":
		q.status = value
	case "after":
		q.after = value
		if id, ok := parseUUID(value); ok {
			q.after = id
		}
	case "order":
		q.order = value
		err = oneOf(value, "asc", "desc")
	case "purpose":
		q.purpose = value
	case "completion_window":
		q.windows = value
	case "include":
		q.analytics = value == "analytics"
	default:
		err = q.setFilter(key, value)
	}
	return err
}

func (q *query) setFilter(key, value string) error {
	var err error
	switch key {
	case "created_after":
		q.createdAfter, err = time.Parse(time.RFC3339, value)
	case "created_before":
		q.createdBefore, err = time.Parse(time.RFC3339, value)
	case "active_first":
		q.activeFirst, err = strconv.ParseBool(value)
	}
	if err != nil {
		return fmt.Errorf("parse value: %w", err)
	}
	return nil
}

func oneOf(value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("unknown variant `%s`, expected one of %q", value, allowed)
}

// pageSize is the limit of a list: 20 when none was asked for.
func (q *query) pageSize() int {
	if q.limit == nil {
		return 20
	}
	return *q.limit
}
