package collector

import (
	"sync"
	"time"
)

// batchID names a batch.
type batchID struct{ queue, job, n string }

// kicks keeps one collection per batch in this process. Hints for a batch that is being collected coalesce into one more round of it.
// It is safe for concurrent use.
type kicks struct {
	mu    sync.Mutex
	busy  map[batchID]bool      // true: somebody asked meanwhile
	rests map[batchID]time.Time // batches that are not worth another look before
}

// rest leaves a batch to its hint for so long: the sweep does not look at it. 0: no longer.
func (k *kicks) rest(id batchID, pause time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if pause <= 0 {
		delete(k.rests, id)
		return
	}
	k.rests[id] = time.Now().Add(pause)
}

// resting reports whether a batch is left to its hint.
func (k *kicks) resting(id batchID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	until, rests := k.rests[id]
	if rests && !time.Now().Before(until) {
		delete(k.rests, id)
		return false
	}
	return rests
}

// begin reports whether the caller may collect the batch; when not, whoever does will go round once more.
func (k *kicks) begin(id batchID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, busy := k.busy[id]; busy {
		k.busy[id] = true
		return false
	}
	k.busy[id] = false
	return true
}

// again reports whether somebody asked since begin or the last again, and if not gives the batch up.
func (k *kicks) again(id batchID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy[id] {
		k.busy[id] = false
		return true
	}
	delete(k.busy, id)
	return false
}

// drop gives the batch up.
func (k *kicks) drop(id batchID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.busy, id)
}
