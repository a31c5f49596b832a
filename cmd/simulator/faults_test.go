package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
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

func TestFaultsOfFlagsAndFileAddUp(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "faults.json")
	if err := os.WriteFile(name, []byte(`[{"kind":"list_lag","delay":"1h","count":-1}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	url, stop := started(t, "--faults", name, "--fault", `status:route=GET /v1/batches,nth=2,status=503`,
		"--fault", `{"kind":"status","route":"GET /v1/batches","nth":3,"status":401,"text":"a, b"}`)
	for call, want := range []int{http.StatusOK, http.StatusServiceUnavailable, http.StatusUnauthorized, http.StatusOK} {
		if status, body := get(t, url+"/batches"); status != want {
			t.Errorf("list %d: %d %s", call+1, status, body)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestAFaultInShortIsTheSameInJSON(t *testing.T) {
	t.Parallel()
	short, err := parseFault("late_row:custom_ids=a|b,delay=5m,share=0.5,count=-1,rows=3,clean=true,text=x=y")
	if err != nil {
		t.Fatal(err)
	}
	long, err := parseFault(`{"kind":"late_row","custom_ids":["a","b"],"delay":"5m","share":0.5,"count":-1,"rows":3,"clean":true,"text":"x=y"}`)
	if err != nil || !reflect.DeepEqual(short, long) || len(short.CustomIDs) != 2 || short.Delay != 5*time.Minute {
		t.Errorf("%+v\n%+v, %v", short, long, err)
	}
	for _, text := range []string{"late_row:delay", "late_row:delay=soon", "late_row:when=now", "late_row:rows=many", `{"kind":"late_row"} {}`} {
		if f, err := parseFault(text); err == nil {
			t.Errorf("%q was taken: %+v", text, f)
		}
	}
}

func TestEveryKindCanBeSwitchedOn(t *testing.T) {
	t.Parallel()
	for _, kind := range simulator.FaultKinds() {
		o := options{Fault: []string{string(kind) + ":status=500,route=GET /v1/batches"}}
		cfg, err := o.config()
		if err != nil {
			t.Fatal(err)
		}
		sim, err := simulator.New(cfg)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTheDialectIsSwitchedOn(t *testing.T) {
	t.Parallel()
	url, stop := started(t, "--dialect", "openai")
	if status, body := get(t, url+"/batches/none"); status != http.StatusNotFound || !strings.HasPrefix(body, `{"error":{`) {
		t.Errorf("%d %s", status, body)
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

func TestFaultsAreReplacedWhileItRuns(t *testing.T) {
	t.Parallel()
	url, stop := started(t, "--fault", "list_lag:count=-1,delay=1h")
	own := strings.TrimSuffix(url, "/v1") + "/_simulator/faults"
	const lag, down = `[{"kind":"list_lag","count":-1,"delay":"1h0m0s"}]`, `[{"kind":"status","route":"GET /v1/batches","count":-1,"status":503,"text":"down"}]`
	if status, body := get(t, own); status != http.StatusOK || body != lag {
		t.Errorf("at first: %d %s", status, body)
	}
	for _, step := range []struct {
		put      string
		status   int
		now      string
		list     int
		whatever string
	}{
		{down, http.StatusOK, down, http.StatusServiceUnavailable, "an outage begins"},
		{`[{"kind":"status"}]`, http.StatusBadRequest, down, http.StatusServiceUnavailable, "one that lacks its status"},
		{`[{"kind":"list_lag","roude":"x"}]`, http.StatusBadRequest, down, http.StatusServiceUnavailable, "a misspelt field"},
		{`[] []`, http.StatusBadRequest, down, http.StatusServiceUnavailable, "two values"},
		{`[]`, http.StatusOK, `[]`, http.StatusOK, "the outage is over"},
	} {
		status, body := ask(t, http.MethodPut, own, step.put)
		_, now := get(t, own)
		list, _ := get(t, url+"/batches")
		if status != step.status || now != step.now || list != step.list {
			t.Errorf("%s: %d %s, then %s and a list that is %d", step.whatever, status, body, now, list)
		}
	}
	if _, ledger := get(t, strings.TrimSuffix(url, "/v1")+"/_simulator/ledger"); strings.Contains(ledger, "_simulator") {
		t.Errorf("the ledger counts its own routes: %s", ledger)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
