package chaos_test

import "testing"

func TestCrashMatrix(t *testing.T) {
	r := record(t, func(string) bool { return true })
	for _, s := range scenarios() {
		t.Logf("%s took %s", s.name, r.took[s.name])
		for _, p := range sorted(r.passed[s.name]) {
			if p.Moment == "after" {
				t.Logf("  %4d %s", r.passed[s.name][p], p)
			}
		}
	}
	r.wantEveryPoint(t)
}
