package poller

import (
	"errors"
	"sync"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// waits remembers for each key until when the provider wants not to be asked for its list, and the answer that said so. Each replica
// learns it by an answer of its own. It is safe for concurrent use.
type waits struct {
	mu   sync.Mutex
	keys map[string]wait
}

type wait struct {
	until  time.Time
	answer doubleword.Error
}

// add takes note of a failed list; one that asks for no wait leaves everything as it is.
func (w *waits) add(key string, cause error, now time.Time) {
	asked := asksToWait(cause)
	e, ok := errors.AsType[*doubleword.Error](cause)
	if !ok || asked <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = make(map[string]wait)
	}
	if until := now.Add(asked); until.After(w.keys[key].until) {
		w.keys[key] = wait{until: until, answer: *e}
	}
}

// of is the answer that the key's list waits for, with the time that is left; nil when it need not wait.
func (w *waits) of(key string, now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, ok := w.keys[key]
	if !ok {
		return nil
	}
	if !found.until.After(now) {
		delete(w.keys, key)
		return nil
	}
	again := found.answer
	again.RetryAfter = found.until.Sub(now)
	return &again
}
