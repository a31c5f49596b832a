package simulator_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// once starts a simulator whose fault hits the first call alone, so that the second one sees what happens without it.
func once(t *testing.T, f simulator.Fault) *provider {
	t.Helper()
	return start(t, simulator.Config{Faults: []simulator.Fault{f}})
}

func TestTheNamedRefusalsHaveTheProvidersBodies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault simulator.Fault
		text  string
	}{
		"upload slots":     {simulator.UploadSlots(), "Too many file uploads in progress"},
		"capacity":         {simulator.CapacityFull(), "Insufficient capacity for 24h completion window"},
		"unverified quota": {simulator.UnverifiedQuota(), "Unverified accounts can submit at most"},
		"balance":          {simulator.NoBalance(), "Insufficient balance"},
		"spending cap":     {simulator.SpendingCap(), "spending cap"},
		"window":           {simulator.WindowRefused("m", "1h"), "does not support completion window '1h'"},
	} {
		t.Run(name+" refuses one call and no more", func(t *testing.T) {
			t.Parallel()
			p := once(t, tc.fault)
			refused := func() answer {
				if tc.fault.Kind == simulator.FaultUploadRefused {
					return p.uploadFields(field{"file", "f", chatRows(1)})
				}
				return p.call(http.MethodPost, "/v1/batches", createBody(p.upload(chatRows(1))))
			}
			a := refused()
			if a.status != tc.fault.Status || !strings.Contains(a.body, tc.text) {
				t.Errorf("%d %q", a.status, a.body)
			}
			limited := a.status == http.StatusTooManyRequests
			if limited != (a.header.Get("Retry-After") == "60") || limited != strings.HasPrefix(a.body, `{"error":"too_many_requests","message":`) {
				t.Errorf("header %v, body %q", a.header, a.body)
			}
			if a := refused(); a.status != http.StatusCreated {
				t.Errorf("the second: %d %q", a.status, a.body)
			}
		})
	}
}

func TestAGoodKeyIsDeniedOnceAndAPageComesFromTheEdge(t *testing.T) {
	t.Parallel()
	const route = "GET /v1/batches"
	for _, tc := range []struct {
		fault simulator.Fault
		want  string
	}{
		{simulator.AuthFlake(route), "Authentication required"},
		{simulator.BadGateway(route), "<html><head><title>502 Bad Gateway"},
		{simulator.Gone(route), "Gone"},
	} {
		p := once(t, tc.fault)
		if a := p.get("/v1/batches"); a.status != tc.fault.Status || !strings.HasPrefix(a.body, tc.want) {
			t.Errorf("%d %q", a.status, a.body)
		}
		if a := p.get("/v1/batches"); a.status != http.StatusOK {
			t.Errorf("the second: %d %q", a.status, a.body)
		}
	}
}

func TestAKnownIDIsNotFound(t *testing.T) {
	t.Parallel()
	p := once(t, simulator.Fault{Kind: simulator.FaultNotFound})
	batch := p.create(p.upload(chatRows(1)))
	for _, path := range []string{"/v1/batches/" + batch.id, "/v1/files/" + batch.output, "/v1/files/" + batch.output + "/content"} {
		if a := p.get(path); a.status != http.StatusNotFound || !strings.Contains(a.body, " not found") {
			t.Errorf("%s: %d %q", path, a.status, a.body)
		}
		if a := p.get(path); a.status != http.StatusOK {
			t.Errorf("%s again: %d %q", path, a.status, a.body)
		}
	}
}

func TestAFreshIDIsNotFoundUntilTheReplicaHasIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := once(t, simulator.Fault{Kind: simulator.FaultNotFound, Delay: time.Minute, Count: -1})
		batch := p.create(p.upload(chatRows(1)))
		if a := p.get("/v1/batches/" + batch.id); a.status != http.StatusNotFound {
			t.Errorf("at once: %d %q", a.status, a.body)
		}
		if a := p.call(http.MethodPost, "/v1/batches/"+batch.id+"/cancel", ""); a.status != http.StatusOK {
			t.Errorf("a change goes to the primary: %d %q", a.status, a.body)
		}
		time.Sleep(time.Minute)
		if a := p.get("/v1/batches/" + batch.id); a.status != http.StatusOK {
			t.Errorf("later: %d %q", a.status, a.body)
		}
	})
}

func TestACreateCommitsAfterItsClientHasGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := once(t, simulator.Fault{Kind: simulator.FaultCreateLate, Delay: time.Minute})
		file := p.upload(chatRows(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://simulator/v1/batches", strings.NewReader(createBody(file)))
		r.Header.Set("Content-Type", "application/json")
		if a := p.send(r); !errors.Is(a.err, context.DeadlineExceeded) {
			t.Fatalf("%d %v", a.status, a.err)
		}
		if n := len(ids(t, p.get("/v1/batches"))); n != 0 {
			t.Errorf("%d batches before the commit", n)
		}
		time.Sleep(time.Minute)
		if n := len(ids(t, p.get("/v1/batches"))); n != 1 {
			t.Errorf("%d batches after it", n)
		}
		p.create(file) // the second call is answered at once
	})
}

func TestACreateCommitsBehindAGatewayTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := once(t, simulator.Fault{Kind: simulator.FaultCreateLate, Delay: time.Minute, Status: 504})
		file := p.upload(chatRows(1))
		if a := p.call(http.MethodPost, "/v1/batches", createBody(file)); a.status != http.StatusGatewayTimeout {
			t.Fatalf("%d %q", a.status, a.body)
		}
		if n := len(p.sim.Ledger().Creates); n != 0 {
			t.Errorf("%d batches at once", n)
		}
		time.Sleep(time.Minute + time.Second)
		if n := len(p.sim.Ledger().Creates); n != 1 {
			t.Errorf("%d batches in the end", n)
		}
	})
}

func TestAListThatIgnoresAfterBeginsAgain(t *testing.T) {
	t.Parallel()
	p := once(t, simulator.Fault{Kind: simulator.FaultAfterIgnored, Route: "GET /v1/batches", Nth: 2})
	file := p.upload(chatRows(1))
	p.create(file)
	second := p.create(file)
	first := ids(t, p.get("/v1/batches?limit=1"))
	looped := ids(t, p.get("/v1/batches?limit=1&after="+second.id))
	honest := ids(t, p.get("/v1/batches?limit=1&after="+second.id))
	if first[0] != second.id || looped[0] != second.id || honest[0] == second.id {
		t.Errorf("%v, %v, %v", first, looped, honest)
	}
}

func TestOffsetIsACursorOnlyOfAServerThatHonoursIt(t *testing.T) {
	t.Parallel()
	p := once(t, simulator.Fault{Kind: simulator.FaultOffsetHonoured})
	file := p.upload(chatRows(5))
	if n := len(lines(p.content(file, "?offset=3").body)); n != 2 {
		t.Errorf("honoured: %d lines", n)
	}
	if n := len(lines(p.content(file, "?offset=3").body)); n != 5 {
		t.Errorf("ignored: %d lines", n)
	}
}

func TestTheHeadersOfContentCanLie(t *testing.T) {
	t.Parallel()
	always := func(k simulator.FaultKind, nth int) simulator.Fault {
		return simulator.Fault{Kind: k, Nth: nth, Rows: 3}
	}
	p := start(t, simulator.Config{Faults: []simulator.Fault{
		always(simulator.FaultLastLineOverstated, 1), always(simulator.FaultIncompleteForever, 2), always(simulator.FaultEmptyContent, 3),
	}})
	batch := p.create(p.upload(chatRows(4)))
	p.untilStatus(batch.id, "completed")
	for i, want := range []struct {
		last, incomplete string
		lines            int
	}{{"7", "false", 4}, {"4", "true", 4}, {"", "false", 0}, {"4", "false", 4}} {
		a := p.content(batch.output, "")
		if a.header.Get("X-Last-Line") != want.last || a.header.Get("X-Incomplete") != want.incomplete || strings.Count(a.body, "\n") != want.lines {
			t.Errorf("read %d: %v, %d lines", i+1, a.header, strings.Count(a.body, "\n"))
		}
	}
}

func TestContentSaysCompleteWhileRowsRun(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Latency: time.Hour, Faults: []simulator.Fault{{Kind: simulator.FaultCompleteEarly}}})
	batch := p.create(p.upload(chatRows(4)))
	if a := p.content(batch.output, ""); a.header.Get("X-Incomplete") != "false" || a.header.Get("X-Last-Line") != "0" {
		t.Errorf("%v", a.header)
	}
	if a := p.content(batch.output, ""); a.header.Get("X-Incomplete") != "true" {
		t.Errorf("the second: %v", a.header)
	}
}

func TestRepliesChangeTheirShapeForOneCall(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Latency: time.Hour, Faults: []simulator.Fault{
		{Kind: simulator.FaultUnknownStatus},
		{Kind: simulator.FaultISOTimes},
		{Kind: simulator.FaultUnknownStatus, Nth: 2, Text: `re"view`},
	}})
	batch := p.create(p.upload(chatRows(1)))
	first, second, third := p.get("/v1/batches/"+batch.id).json(t), p.get("/v1/batches/"+batch.id).json(t), p.get("/v1/batches/"+batch.id).json(t)
	if first["status"] != "paused" || second["status"] != `re"view` || third["status"] == "paused" {
		t.Errorf("statuses %v, %v, %v", first["status"], second["status"], third["status"])
	}
	seconds, _ := third["created_at"].(float64)
	at, err := time.Parse(time.RFC3339, first["created_at"].(string))
	if err != nil || at.Unix() != int64(seconds) {
		t.Errorf("times %v, %v", first["created_at"], third["created_at"])
	}
}

func TestPrefixedIDsLastAndWorkEverywhere(t *testing.T) {
	t.Parallel()
	p := once(t, simulator.Fault{Kind: simulator.FaultPrefixedIDs})
	file := p.upload(chatRows(2))
	batch := p.create(file)
	if !strings.HasPrefix(file, "file-") || !strings.HasPrefix(batch.id, "batch_") || !strings.HasPrefix(batch.output, "file-") {
		t.Fatalf("%v %v", file, batch)
	}
	p.untilStatus(batch.id, "completed")
	if n := len(lines(p.content(batch.output, "").body)); n != 2 {
		t.Errorf("%d lines", n)
	}
	bare := p.create(p.upload(chatRows(1)))
	if len(bare.id) != 36 || len(bare.output) != 36 {
		t.Errorf("the second: %v", bare)
	}
	if got := ids(t, p.get("/v1/batches?limit=1&after="+bare.id)); len(got) != 1 || got[0] != batch.id {
		t.Errorf("%v", got)
	}
}

func TestFaultsBeginAndEndWhileTheSimulatorRuns(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	for _, down := range []bool{false, true, false} {
		var faults []simulator.Fault
		if down {
			faults = append(faults, simulator.Fault{Kind: simulator.FaultStatus, Route: "GET /v1/batches", Status: 503, Count: -1})
		}
		if err := p.sim.SetFaults(faults...); err != nil {
			t.Fatal(err)
		}
		if a := p.get("/v1/batches"); (a.status == http.StatusServiceUnavailable) != down {
			t.Errorf("down %v: %d", down, a.status)
		}
	}
	if err := p.sim.SetFaults(simulator.Fault{Kind: "nothing"}); err == nil {
		t.Error("nonsense was taken")
	}
}
