//go:build !linux

package deploy_test

import "syscall"

func dieWithUs() *syscall.SysProcAttr { return nil }

// peakMemory is not known here; see the test that says so.
func peakMemory(int) int64 { return 0 }
