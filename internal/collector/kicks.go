package collector

import "sync"

// batchID names a batch.
type batchID struct{ queue, job, n string }

// kicks keeps one collection per batch in this process. Hints for a batch that is being collected coalesce into one more round of it.
// It is safe for concurrent use.
type kicks struct {
	mu   sync.Mutex
	busy map[batchID]bool // true: somebody asked meanwhile
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
