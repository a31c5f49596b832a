//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/test/rig"
)

// fakeProvider is the program simulator, running.
type fakeProvider struct {
	t    *testing.T
	base string
}

func startFakeProvider(t *testing.T, flags ...string) fakeProvider {
	t.Helper()
	address := rig.FreeAddress(t)
	p := startProgram(t, "simulator", t.TempDir(), nil, append([]string{"--listen", address}, flags...)...)
	t.Cleanup(func() { p.stop(); p.wait(t) })
	f := fakeProvider{t: t, base: "http://" + address}
	rig.Eventually(t, "the simulator listens", func() bool {
		_, err := f.try(http.MethodGet, "ledger", "")
		return err == nil
	})
	return f
}

func (f fakeProvider) try(method, own, text string) (string, error) {
	request, err := http.NewRequestWithContext(f.t.Context(), method, f.base+"/_simulator/"+own, strings.NewReader(text))
	if err != nil {
		return "", err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", method, own, reply.StatusCode, body)
	}
	return string(body), err
}

func (f fakeProvider) faults(text string) {
	f.t.Helper()
	if _, err := f.try(http.MethodPut, "faults", text); err != nil {
		f.t.Fatal(err)
	}
}

func (f fakeProvider) ledger() (l simulator.Ledger) {
	f.t.Helper()
	text, err := f.try(http.MethodGet, "ledger", "")
	if err == nil {
		err = json.Unmarshal([]byte(text), &l)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

const plainKey = "sk-plain-e2e"

// runPlain runs sixty rows at a plain OpenAI-shaped provider that takes two a second and gives them twelve seconds.
func (f fakeProvider) runPlain(dir, job string, flags ...string) *process {
	f.t.Helper()
	var rows strings.Builder
	for i := range 60 {
		fmt.Fprintf(&rows, goodRow, fmt.Sprintf("%s-%d", job, i))
	}
	file := writeFile(f.t, filepath.Join(dir, job+".jsonl"), rows.String())
	return start(f.t, dir, []string{"DOUBLEWORD_API_KEY=" + plainKey}, append([]string{
		"run", file, "--json", "--job", job, "--provider-url", f.base + "/v1", "--set", "windows=12s", "--set", "window=12s",
		"--poll-floor", "1s", "--poll-ceiling", "1s", "--missing-grace", "1s", "--sweep-interval", "1s",
	}, flags...)...)
}

// proven has a job audited, by the provider's list too.
func (f fakeProvider) proven(dir, job string) {
	f.t.Helper()
	o := batchbus(f.t, dir, []string{"DOUBLEWORD_API_KEY=" + plainKey}, "audit", job, "--data", ".batchbus", "--provider", "--provider-url", f.base+"/v1")
	o.want(f.t, 0)
	if !strings.Contains(o.stdout, "proven by rows") {
		f.t.Errorf("%s", o.stdout)
	}
}

func plainProvider(t *testing.T) fakeProvider {
	t.Helper()
	return startFakeProvider(t, "--dialect", "openai", "--keys", plainKey, "--windows", "12s", "--rows-per-second", "2", "--failure-rate", "0.3", "--seed", "3")
}

func TestRowsOfAPlainOpenAIServerSucceedFailAndExpireAndTheAuditProvesIt(t *testing.T) {
	t.Parallel()
	dir, f := t.TempDir(), plainProvider(t)
	o := f.runPlain(dir, "once", "--retry-attempts", "1").wait(t)
	s, ledger := o.summary(t), f.ledger()
	got := s.Rows
	if got.Total != 60 || got.Succeeded+got.Failed+got.Expired != 60 || got.Succeeded < 8 || got.Failed < 2 || got.Expired < 20 {
		t.Errorf("%+v\n%s", got, o.stderr)
	}
	if ledger.RowsRun != got.Succeeded+got.Failed || len(ledger.Creates) != 1 || len(s.Batches) != 1 {
		t.Errorf("rows %+v, ledger %+v, batches %+v", got, ledger, s.Batches)
	}
	for _, b := range s.Batches {
		if !strings.HasPrefix(b.ProviderBatchID, "batch_") || !strings.HasPrefix(b.InputFileID, "file-") || b.State != "settled" {
			t.Errorf("%+v", b)
		}
	}
	f.proven(dir, "once")
}

func TestExpiredRowsOfAPlainOpenAIServerAreSentAgainOverAnOutageOfItsFiles(t *testing.T) {
	t.Parallel()
	dir, f := t.TempDir(), plainProvider(t)
	f.faults(`[{"kind":"status","route":"GET /v1/files/{id}/content","count":-1,"status":502,"text":"<html>bad gateway</html>"}]`)
	run := f.runPlain(dir, "again", "--retry-attempts", "4")
	rig.Eventually(t, "files are asked for in vain", func() bool { return f.ledger().Calls["GET /v1/files/{id}/content"] >= 3 })
	f.faults(`[]`)
	o := run.wait(t)
	s, ledger := o.summary(t), f.ledger()
	if s.Rows.Total != 60 || s.Rows.Succeeded+s.Rows.Failed != 60 || s.Rows.Failed == 0 {
		t.Errorf("%+v\n%s", s.Rows, o.stderr)
	}
	if len(ledger.Creates) < 2 || len(ledger.Creates) != len(s.Batches) {
		t.Errorf("%d creates, batches %+v", len(ledger.Creates), s.Batches)
	}
	if ran := ledger.RowsRun; ran != 60 { // what expired had not run
		t.Errorf("%d rows ran, want each once", ran)
	}
	f.proven(dir, "again")
}
