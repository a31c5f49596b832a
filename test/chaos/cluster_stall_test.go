package chaos_test

import (
	"sync"
	"time"
)

// stalls measures the longest time in which a number did not grow.
type stalls struct {
	stop    chan struct{}
	running sync.WaitGroup
	longest time.Duration
}

// watchStalls looks at the number again and again until end.
func watchStalls(progress func() int64) *stalls {
	s := &stalls{stop: make(chan struct{})}
	s.running.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		last, at := progress(), time.Now()
		for {
			if now := progress(); now > last {
				last, at = now, time.Now()
			}
			s.longest = max(s.longest, time.Since(at))
			select {
			case <-tick.C:
			case <-s.stop:
				return
			}
		}
	})
	return s
}

// end stops the watch and returns the longest stall.
func (s *stalls) end() time.Duration {
	close(s.stop)
	s.running.Wait()
	return s.longest
}
