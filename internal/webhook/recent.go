package webhook

import "sync"

// recent remembers the newest of what it was given. It is safe for concurrent use.
type recent struct {
	mu    sync.Mutex
	most  int
	known map[string]struct{}
	order []string // the oldest at next, once there are most
	next  int
}

func newRecent(most int) *recent {
	return &recent{most: most, known: make(map[string]struct{})}
}

// add reports whether s is new.
func (r *recent) add(s string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.known[s]; known {
		return false
	}
	r.known[s] = struct{}{}
	if len(r.order) < r.most {
		r.order = append(r.order, s)
		return true
	}
	delete(r.known, r.order[r.next])
	r.order[r.next] = s
	r.next = (r.next + 1) % r.most
	return true
}
