//go:build race

package chaos_test

// few keeps a handful: the race detector sees this test's process alone, since the services are built without it.
func few(cases []crash) []crash { return cases[:min(len(cases), 4)] }
