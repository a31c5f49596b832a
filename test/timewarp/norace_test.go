//go:build !race

package timewarp_test

// daysOfCI is how many days of troubles every run makes.
const daysOfCI = 10
