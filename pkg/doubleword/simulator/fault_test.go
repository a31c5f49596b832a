package simulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

func TestALostCreateReplyLeavesABatch(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Faults: []simulator.Fault{
		{Kind: simulator.FaultCreateReplyLost}, {Kind: simulator.FaultCreateReplyLost, Nth: 2, Status: 500},
	}})
	file := p.upload(chatRows(1))
	if a := p.call(http.MethodPost, "/v1/batches", createBody(file)); a.err == nil {
		t.Errorf("a reply came: %d %s", a.status, a.body)
	}
	if a := p.call(http.MethodPost, "/v1/batches", createBody(file)); a.status != 500 || a.body != "Internal server error" {
		t.Errorf("the second: %d %q", a.status, a.body)
	}
	p.create(file)
	if n := len(ids(t, p.get("/v1/batches?search=bus/q/job/1/"))); n != 3 || len(p.sim.Ledger().Creates) != 3 {
		t.Errorf("%d batches exist", n)
	}
}

func TestRefusalsCreateNothingAndEnd(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Faults: []simulator.Fault{
		{Kind: simulator.FaultUploadRefused, Status: 503},
		{Kind: simulator.FaultCreateRefused, Status: 429, Text: simulator.TextCapacity, Count: 2},
	}})
	a := p.uploadFields(field{"file", "f", chatRows(1)})
	if a.status != 503 || a.header.Get("Retry-After") != "30" || a.json(t)["error"] != "service_unavailable" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	file := p.upload(chatRows(1))
	for range 2 {
		a = p.call(http.MethodPost, "/v1/batches", createBody(file))
		body := a.json(t)
		if a.status != 429 || a.header.Get("Retry-After") != "60" || body["retry_after_seconds"] != 30.0 || body["message"] != simulator.TextCapacity {
			t.Errorf("%d %v %v", a.status, a.header, body)
		}
	}
	p.create(file)
	if l := p.sim.Ledger(); len(l.Uploads) != 1 || len(l.Creates) != 1 || l.Calls["POST /v1/batches"] != 3 {
		t.Errorf("%+v", l)
	}
}

func TestAStatusFaultHitsTheSelectedCallsOfItsRoute(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Faults: []simulator.Fault{
		{Kind: simulator.FaultStatus, Route: "GET /v1/batches", Nth: 2, Count: 2, Status: 502},
		{Kind: simulator.FaultStatus, Route: "GET /v1/files/{id}", Status: 401, Count: -1},
	}})
	for i, want := range []int{200, 502, 502, 200} {
		a := p.get("/v1/batches")
		if a.status != want || (want == 502) != strings.HasPrefix(a.body, "<html>") {
			t.Errorf("call %d: %d %q", i+1, a.status, a.body)
		}
	}
	for range 3 {
		if a := p.get("/v1/files/" + noID); a.status != 401 || a.body != "Authentication required" {
			t.Errorf("%d %q", a.status, a.body)
		}
	}
}

func TestABodyBreaksOffWhereToldAndOnlyOnce(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Faults: []simulator.Fault{
		{Kind: simulator.FaultShortBody, Bytes: 500}, {Kind: simulator.FaultShortBody, Nth: 2, Bytes: 501, Clean: true},
	}})
	file := p.upload(chatRows(20))
	if a := p.content(file, ""); a.status != 200 || len(a.body) != 500 || a.err == nil {
		t.Errorf("%d, %d bytes, %v", a.status, len(a.body), a.err)
	}
	if a := p.content(file, ""); len(a.body) != 501 || a.err != nil {
		t.Errorf("cleanly: %d bytes, %v", len(a.body), a.err)
	}
	if a := p.content(file, ""); strings.Count(a.body, "\n") != 20 || a.err != nil {
		t.Errorf("healed: %d bytes, %v", len(a.body), a.err)
	}
}

func TestMissingRowsAreCountedAndInNeitherFile(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultMissingRow, CustomIDs: []string{"lost"}}}})
	batch := p.create(p.upload(chatRows(5) + chatRow("7~lost", "") + chatRow("other", "")))
	counts := p.untilStatus(batch.id, "completed")["request_counts"].(map[string]any)
	out, bad := p.content(batch.output, "").body, p.content(batch.errors, "").body
	if counts["completed"] != 7.0 || strings.Count(out, "\n") != 6 || strings.Contains(out, "7~lost") || bad != "" {
		t.Errorf("%v, %d lines", counts, strings.Count(out, "\n"))
	}
}

func TestALateRowAppearsBehindTheCursor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, simulator.Config{Faults: []simulator.Fault{
			{Kind: simulator.FaultLateRow, CustomIDs: []string{"row-0001"}, Delay: time.Minute},
		}})
		batch := p.create(p.upload(chatRows(100)))
		time.Sleep(time.Second)
		early := lines(p.content(batch.output, "").body)
		if b := p.get("/v1/batches/" + batch.id).json(t); len(early) != 99 || b["status"] != "in_progress" {
			t.Fatalf("%d lines, %v", len(early), b["status"])
		}
		time.Sleep(time.Minute)
		a := p.content(batch.output, "?skip=99")
		if a.body != early[98]+"\n" {
			t.Errorf("the cursor delivers %q, not its last line again", a.body)
		}
		if all := p.content(batch.output, "").body; !strings.Contains(all, "row-0001") || strings.Count(all, "\n") != 100 {
			t.Error("the late row is not there")
		}
		p.untilStatus(batch.id, "completed")
	})
}

func TestALaggingListDoesNotSeeWhatIsYoung(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultListLag, Delay: time.Minute, Count: -1}}})
		batch := p.create(p.upload(chatRows(1)))
		if n := len(ids(t, p.get("/v1/batches"))) + len(ids(t, p.get("/v1/files"))); n != 0 {
			t.Errorf("%d things are visible at once", n)
		}
		time.Sleep(time.Minute)
		if got := ids(t, p.get("/v1/batches")); len(got) != 1 || got[0] != batch.id {
			t.Errorf("%v", got)
		}
	})
}

func TestNonsenseFaultsAreRefused(t *testing.T) {
	t.Parallel()
	for _, f := range []simulator.Fault{{Kind: "x"}, {Kind: simulator.FaultStatus, Status: 500}, {Kind: simulator.FaultCreateRefused}} {
		if _, err := simulator.New(simulator.Config{Faults: []simulator.Fault{f}}); err == nil {
			t.Errorf("%+v was taken", f)
		}
	}
}

func TestTheLedgerIsServedAsItIs(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	p.untilStatus(p.create(p.upload(chatRows(3))).id, "completed")
	a := p.get("/_simulator/ledger")
	var served simulator.Ledger
	if err := json.Unmarshal([]byte(a.body), &served); err != nil {
		t.Fatal(err)
	}
	if served.RowsRun != 3 || served.Creates[0].Metadata["batchbus"] != "bus/q/job/1/" || !strings.Contains(a.body, `"rows_run":3`) {
		t.Errorf("%s", a.body)
	}
}
