package jetstore

import "sync"

// worker is the right of one handler to be under way.
type worker struct {
	mu    sync.Mutex
	slots chan struct{} // one is this worker's, until it has left
	aside chan struct{}
	left  bool
	freed bool
}

// Leave gives the worker of d's handler to other messages: the handler waits for something that has nothing to do with them. It reports whether
// the worker is another's now; with as many gone as [EachOptions].Aside says, or after the handler's end, it is not. The handler goes on
// all the same, and is waited for. It is idempotent. Outside of [Store.Each] it does nothing.
func (d Delivery) Leave() bool {
	if d.worker == nil {
		return false
	}
	return d.worker.leave()
}

func (w *worker) leave() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left || w.freed {
		return w.left
	}
	select {
	case w.aside <- struct{}{}:
		<-w.slots
		w.left = true
	default:
	}
	return w.left
}

// free ends what is left of the worker.
func (w *worker) free() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.freed = true
	if w.left {
		<-w.aside
		return
	}
	<-w.slots
}
