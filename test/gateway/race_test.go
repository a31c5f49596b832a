//go:build race

package gateway_test

// crowd is how many calls are open at once: the detector makes each of the test's goroutines cost many times as much.
const crowd = 300
