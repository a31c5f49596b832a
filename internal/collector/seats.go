package collector

import "sync"

// seats are the workers of the sweep.
type seats struct {
	workers, aside chan struct{}
	running        *sync.WaitGroup
}

func newSeats(workers, aside int) seats {
	return seats{workers: make(chan struct{}, workers), aside: make(chan struct{}, aside), running: &sync.WaitGroup{}}
}

// start waits for a free worker, unless stop is closed, and has it do f beside the caller.
func (s seats) start(stop <-chan struct{}, f func(turn)) {
	select {
	case s.workers <- struct{}{}:
	case <-stop:
		return
	}
	s.running.Go(func() {
		w := sweepWorker{seats: s}
		defer w.free()
		f(turn{stop: stop, leave: w.leave})
	})
}

func (s seats) wait() { s.running.Wait() }

// sweepWorker is one of them, as a hint's worker is one of the consumer's.
type sweepWorker struct {
	seats seats
	mu    sync.Mutex
	left  bool
	over  bool
}

func (w *sweepWorker) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left || w.over {
		return
	}
	select {
	case w.seats.aside <- struct{}{}:
		<-w.seats.workers
		w.left = true
	default:
	}
}

func (w *sweepWorker) free() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.left {
		<-w.seats.aside
		return
	}
	<-w.seats.workers
}
