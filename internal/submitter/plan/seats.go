package plan

import (
	"sync"

	"github.com/batchbus/batchbus/internal/jobs"
)

// seats sees to it that a job is planned by one goroutine at a time, and keeps what is known of the jobs that are not planned to their
// end. It is safe for concurrent use; a seat belongs to who took it.
type seats struct {
	mu    sync.Mutex
	taken map[string]*seat
	free  map[string]*seat // those that hold a session
}

// seat is one job's place.
type seat struct {
	session *session
	again   bool // somebody asked for the job while it was being planned
}

func newSeats() *seats {
	return &seats{taken: make(map[string]*seat), free: make(map[string]*seat)}
}

// take returns the job's seat, or nil when it is taken: whoever has it then goes once more when he is done.
func (s *seats) take(job string) *seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	if busy := s.taken[job]; busy != nil {
		busy.again = true
		return nil
	}
	found := s.free[job]
	if found == nil {
		found = new(seat)
	}
	delete(s.free, job)
	s.taken[job] = found
	return found
}

// leave gives the seat back. It is false, and the seat stays taken, when the job was asked for meanwhile and the work so far went well.
func (s *seats) leave(job string, had *seat, failed bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := had.again
	had.again = false
	if again && !failed {
		return false
	}
	delete(s.taken, job)
	if had.session != nil {
		s.free[job] = had
	}
	return true
}

// known tells whether the job is being planned here, or its walk is in memory.
func (s *seats) known(job string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[job] != nil || s.free[job] != nil
}

// prune forgets the walk of a job that another planner has gone on with since, maybe to its end: nothing would ask for it any more.
func (s *seats) prune(name string, job *jobs.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.free[name]
	if free != nil && free.session.job.Revision < job.Revision && !samePlan(&free.session.job.Job, &job.Job) {
		delete(s.free, name)
	}
}
