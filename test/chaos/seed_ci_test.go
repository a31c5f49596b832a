//go:build !race

package chaos_test

// seedsInCI is how many seeds run when nothing else is said.
const seedsInCI = 5
