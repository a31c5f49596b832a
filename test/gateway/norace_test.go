//go:build !race

package gateway_test

// crowd is how many calls are open at once.
const crowd = 5000
