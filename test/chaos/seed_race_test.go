//go:build race

package chaos_test

// seedsInCI is small where the test itself is slow; the services are built without the race detector anyway.
const seedsInCI = 2
