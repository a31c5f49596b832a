//go:build !race

package chaos_test

func few(cases []crash) []crash { return cases }
