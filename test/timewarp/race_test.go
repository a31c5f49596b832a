//go:build race

package timewarp_test

// daysOfCI are fewer here: the race detector makes a day many times longer, and what it looks for is in any of them.
const daysOfCI = 2
