package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// started runs the command and returns its base URL and a stop that waits for its end.
func started(t *testing.T, args ...string) (string, func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, append(args, "--listen", "127.0.0.1:0"), write)
		_ = write.CloseWithError(io.ErrUnexpectedEOF)
		ended <- err
	}()
	buf := make([]byte, 512)
	n, err := read.Read(buf)
	if err != nil {
		t.Fatalf("no line: %v, %v", err, <-ended)
	}
	line := string(buf[:n])
	url := regexp.MustCompile(`https?://\S+`).FindString(line)
	if !strings.Contains(line, "simulator") || url == "" {
		t.Fatalf("said %q", line)
	}
	return url, func() error { cancel(); return <-ended }
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	return ask(t, http.MethodGet, url, "")
}

func ask(t *testing.T, method, url, text string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer key")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestTheProcessServesAndStopsOnItsSignal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, stop := started(t, "--data", dir)
	if status, body := get(t, url+"/batches"); status != http.StatusOK || !strings.Contains(body, `"object":"list"`) {
		t.Fatalf("%d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	url, stop = started(t, "--data", dir)
	_, ledger := get(t, strings.TrimSuffix(url, "/v1")+"/_simulator/ledger")
	if !strings.Contains(ledger, `"GET /v1/batches":1`) {
		t.Errorf("the ledger forgot: %s", ledger)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestSettingsComeFromTheEnvironmentToo(t *testing.T) {
	t.Setenv("BATCHBUS_SIMULATOR_KEYS", "only-this")
	url, stop := started(t)
	if status, body := get(t, url+"/batches"); status != http.StatusUnauthorized {
		t.Errorf("%d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestExplicitLimitsWinOverTheSources(t *testing.T) {
	t.Parallel()
	cfg, err := options{SourceLimits: true, MaxRows: 7}.config()
	if err != nil || cfg.MaxRows != 7 || cfg.MaxFileBytes != 100<<20 || len(cfg.Windows) != 1 {
		t.Errorf("%+v", cfg)
	}
}

func TestABadSettingIsRefused(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), []string{"--failure-rate", "2"}, io.Discard); err == nil {
		t.Error("a failure rate of 2 was taken")
	}
}
