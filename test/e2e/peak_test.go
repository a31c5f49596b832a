package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"time"
)

// peak samples the most resident memory that a process has had while it runs. What Linux tells of a process that has ended is no
// measure: it counts the memory of the test itself too, in which the process was for a moment between its start and its exec.
type peak struct {
	stop  chan struct{}
	bytes chan int64
}

// samplePeak begins to sample; on other systems than Linux it does nothing.
func samplePeak(pid int) peak {
	p := peak{stop: make(chan struct{}), bytes: make(chan int64, 1)}
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var most int64
		for {
			most = max(most, highWater(pid))
			select {
			case <-tick.C:
			case <-p.stop:
				p.bytes <- most
				return
			}
		}
	}()
	return p
}

// end is the most memory so far; fallback is what the system tells of the ended process.
func (p peak) end(fallback int64) int64 {
	close(p.stop)
	if most := <-p.bytes; runtime.GOOS == "linux" {
		return most
	}
	return fallback
}

// highWater is what Linux knows of a running process; 0 when it has ended.
func highWater(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(status, []byte("VmHWM:"))
	var kib int64
	if _, err := fmt.Sscan(string(after), &kib); err != nil {
		return 0
	}
	return kib << 10
}
