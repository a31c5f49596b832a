//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword"
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

func TestAuditFindsASecondPaidBatchInTheProvidersList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const key = "sk-audit-0123456789"
	url, stop := realProvider(t, key)
	defer stop()
	env := []string{"DOUBLEWORD_API_KEY=" + key}
	file := writeFile(t, filepath.Join(dir, "rows.jsonl"), fmt.Sprintf(goodRow, "a")+fmt.Sprintf(goodRow, "b"))
	batchbus(t, dir, env, "run", file, "--job", "nightly", "--provider-url", url, "--poll-floor", "1s", "--poll-ceiling", "1s").want(t, 0)
	audit := func() outcome {
		t.Helper()
		return batchbus(t, dir, env, "audit", "nightly", "--data", ".batchbus", "--provider", "--provider-url", url)
	}
	o := audit()
	o.want(t, 0)
	if !strings.Contains(o.stdout, "proven by rows") || !strings.Contains(o.stdout, "provider: 1 batches") {
		t.Fatalf("%s", o.stdout)
	}
	client, err := doubleword.New(doubleword.Config{BaseURL: url, Key: doubleword.NewSecret(key)})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range client.AllBatches(t.Context(), doubleword.BatchQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		twin := doubleword.NewBatch{InputFileID: b.InputFileID, Endpoint: b.Endpoint, CompletionWindow: b.CompletionWindow, Metadata: b.Metadata}
		if _, err := client.CreateBatch(t.Context(), twin); err != nil {
			t.Fatal(err)
		}
		break
	}
	o = audit()
	o.want(t, 1)
	if !strings.Contains(o.stdout, "WRONG paid_twice batch 1") {
		t.Errorf("%s", o.stdout)
	}
}
