//go:build unix

package e2e_test

import (
	"encoding/json"
	"testing"
)

func TestAuditProvesTheJobOfARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := batchbus(t, dir, nil, "run", examples(t), "--json").summary(t)
	o := batchbus(t, dir, nil, "audit", s.Job, "--data", ".batchbus", "--json")
	o.want(t, 0)
	var report struct {
		Verdict string `json:"verdict"`
		Basis   string `json:"basis"`
		Owners  int    `json:"owners"`
		Results struct {
			Rows      int `json:"rows"`
			Succeeded int `json:"succeeded"`
		} `json:"results"`
		Open []string `json:"open"`
	}
	if err := json.Unmarshal([]byte(o.stdout), &report); err != nil {
		t.Fatalf("%v: %s", err, o.stdout)
	}
	if report.Verdict != "proven" || report.Basis != "rows" || report.Owners != s.Rows.Total || report.Results.Rows != s.Rows.Total ||
		report.Results.Succeeded != s.Rows.Succeeded || len(report.Open) > 0 {
		t.Errorf("%s", o.stdout)
	}
	if all := batchbus(t, dir, nil, "audit", "--all", "--data", ".batchbus"); all.code != 0 {
		t.Errorf("--all: exit code %d: %s%s", all.code, all.stdout, all.stderr)
	}
	batchbus(t, dir, nil, "audit", "nobody", "--data", ".batchbus").want(t, 2, "nobody")
	batchbus(t, dir, nil, "audit", "--data", ".batchbus").want(t, 2, "--all")
	batchbus(t, dir, nil, "audit", s.Job, "--provider", "--data", ".batchbus").want(t, 2, "DOUBLEWORD_API_KEY")
}
