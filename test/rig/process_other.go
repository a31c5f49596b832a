//go:build !linux

package rig

import "syscall"

func dieWithUs() *syscall.SysProcAttr { return nil }

// peakMemory is not known here.
func peakMemory(int) int64 { return 0 }

// standsStill is not known here.
func standsStill(int) bool { return false }
