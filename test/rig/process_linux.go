package rig

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// dieWithUs has the kernel end a process when the test's process ends, however it ends.
func dieWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// peakMemory is the most resident memory that a running process has had, in bytes; 0 when it has ended.
func peakMemory(pid int) int64 {
	_, after, _ := bytes.Cut(status(pid), []byte("VmHWM:"))
	var kib int64
	if _, err := fmt.Sscan(string(after), &kib); err != nil {
		return 0
	}
	return kib << 10
}

// standsStill tells whether a process is stopped by a signal.
func standsStill(pid int) bool { return bytes.Contains(status(pid), []byte("State:\tT")) }

// status is what the kernel tells of a process; empty when it has ended.
func status(pid int) []byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	return text
}
