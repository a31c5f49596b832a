package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFaultsOfTheFileHappen(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "faults.json")
	text := `[{"kind":"status","route":"GET /v1/batches","nth":2,"status":503,"text":"down"},{"kind":"list_lag","delay":"1h","count":-1}]`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	url, stop := started(t, "--faults", name)
	if status, body := get(t, url+"/batches"); status != http.StatusOK {
		t.Errorf("the first list: %d %s", status, body)
	}
	if status, body := get(t, url+"/batches"); status != http.StatusServiceUnavailable || !strings.Contains(body, "down") {
		t.Errorf("the second list: %d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestAFileOfFaultsWithAMistakeIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[{"kind":"status","roude":"GET /v1/batches"}]`, `[{"kind":"list_lag","delay":"soon"}]`, `[{"kind":"nothing"}]`} {
		name := filepath.Join(t.TempDir(), "faults.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), []string{"--listen=127.0.0.1:0", "--faults", name}, io.Discard); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}
